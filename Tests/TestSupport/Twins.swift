package import Foundation

/// Copies a database that is closed as a copy of a whole disk would: nothing beside it tells that it is another file.
package func copyUnnoticed(_ database: URL, to copy: URL) throws {
  try FileManager.default.copyItem(at: database, to: copy)
  try claimMark(of: copy)
}

/// Puts a database that is closed back from a copy, into the file that it had, or, with its mark, so that nothing tells.
package func putBack(_ copy: URL, into database: URL, unnoticed: Bool = false) throws {
  for name in ["default.sqlite3-wal", "default.sqlite3-shm"] {
    try? FileManager.default.removeItem(at: database.appendingPathComponent(name))
  }
  let file = database.appendingPathComponent("default.sqlite3")
  let handle = try FileHandle(forWritingTo: file)
  try handle.truncate(atOffset: 0)
  try handle.write(contentsOf: Data(contentsOf: copy.appendingPathComponent("default.sqlite3")))
  try handle.close()
  guard unnoticed else { return }
  try Data(contentsOf: copy.appendingPathComponent("default.sqlite3-replica"))
    .write(to: database.appendingPathComponent("default.sqlite3-replica"))
  try claimMark(of: database)
}

/// - Parameter keepsBirth: whether the mark says when the file was made that it was of; one without it is any file's of the
///   number.
package func claimMark(of database: URL, keepsBirth: Bool = false) throws {
  let mark = database.appendingPathComponent("default.sqlite3-replica")
  var words = try String(decoding: Data(contentsOf: mark), as: UTF8.self).split(separator: " ").map(String.init)
  let attributes = try FileManager.default.attributesOfItem(atPath: database.appendingPathComponent("default.sqlite3").path)
  words[1] = "\((attributes[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0)"
  if !keepsBirth { words.removeAll { $0.hasPrefix("born-") } }
  try Data(words.joined(separator: " ").utf8).write(to: mark)
}
