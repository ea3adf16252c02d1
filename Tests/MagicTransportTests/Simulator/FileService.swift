import Foundation
import TestSupport

/// Carries files from one machine's folder to another's as services do: late, in any order, at times cut short at first; and
/// takes away what was taken away.
struct FileService {
  /// What both sides of a pair had after the last time.
  private var common: [String: Set<String>] = [:]

  mutating func carry(_ from: URL, to: URL, _ chance: inout Seeded) throws {
    let key = from.path + " > " + to.path
    let here = try files(from)
    for path in here where chance.below(3) > 0 {
      try carry(path, from, to, isCut: chance.below(8) == 0 ? chance.below(200) : nil)
    }
    for path in common[key, default: []].subtracting(here).sorted() where chance.below(2) == 0 {
      try? FileManager.default.removeItem(at: to.appendingPathComponent(path))
    }
    common[key] = Set(here).intersection(try files(to))
  }

  mutating func carryAll(_ from: URL, to: URL) throws {
    for path in try files(from) { try carry(path, from, to, isCut: nil) }
  }

  private func files(_ folder: URL) throws -> [String] {
    guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
    return try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted().filter { path in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: folder.appendingPathComponent(path).path, isDirectory: &isFolder)
        && !isFolder.boolValue && !path.split(separator: "/").contains { $0.hasPrefix(".") }
    }
  }

  private func isNewer(_ file: URL, than other: URL) throws -> Bool {
    func date(_ file: URL) -> Date? {
      (try? FileManager.default.attributesOfItem(atPath: file.path))?[.modificationDate] as? Date
    }
    return (date(file) ?? .distantPast) >= (date(other) ?? .distantPast)
  }

  /// The longer one wins: what is shorter was cut, here or there.
  private func carry(_ path: String, _ from: URL, _ to: URL, isCut length: Int?) throws {
    let (source, target) = (from.appendingPathComponent(path), to.appendingPathComponent(path))
    let bytes = try Data(contentsOf: source)
    if path.hasPrefix("acks/") {
      // They are written again and again: the later one wins.
      guard length == nil, try !isNewer(target, than: source) else { return }
    } else if let there = try? Data(contentsOf: target), there.count >= bytes.count {
      return
    }
    try FileManager.default.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
    let isMarker = path == "magicdata.json"
    try (length.map { isMarker ? bytes : bytes.prefix($0) } ?? bytes).write(to: target)
  }
}
