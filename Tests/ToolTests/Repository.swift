import Foundation
import TestSupport
import Testing

/// A git repository with commits by two authors.
func makeRepository(at url: URL, commits: Int) throws {
  try #require(Tool.git.run("init", "-q", url.path).status == 0)
  guard commits > 0 else { return }
  var stream = ""
  for number in 1...commits {
    let message = number == 2 ? "Umlauts ä, quotes \" and 👩‍👩‍👧" : "Change number \(number)"
    let author = number.isMultiple(of: 3) ? "Änne <anne@example.org>" : "Bo <bo@example.org>"
    stream += "commit refs/heads/main\nauthor \(author) \(1_700_000_000 + number * 60) +0100\n"
    stream += "committer \(author) \(1_700_000_000 + number * 60) +0100\ndata \(message.utf8.count)\n\(message)\n"
  }
  let file = url.appendingPathComponent("stream")
  try Data(stream.utf8).write(to: file)
  let commits = try FileHandle(forReadingFrom: file)
  try #require(Tool.git.run("-C", url.path, "fast-import", "--quiet", input: commits).status == 0)
  try #require(Tool.git.run("-C", url.path, "symbolic-ref", "HEAD", "refs/heads/main").status == 0)
}
