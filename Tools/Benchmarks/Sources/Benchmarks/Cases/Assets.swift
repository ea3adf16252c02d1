import Foundation
import MagicData

/// Contents of 100 KB in files of their own.
extension Case {
  private static let bytes = 100_000

  static func assets(_ sizes: Sizes) -> [Case] {
    [saveAssets(100), loadAssets(100)]
  }

  private static func saveAssets(_ size: Int) -> Case {
    Case(name: "save assets of 100 KB, one transaction", size: size, count: size) { _ in
      [
        Side("MagicData") { folder in
          let magic = try await MagicData(path: folder.file("ours"))
          let pictures = (0..<size).map { Picture(number: $0, bytes: bytes) }
          return {
            try await magic.update(contentsOf: pictures)
            return size
          }
        },
        Side("raw SQLite and files") { folder in
          let raw = RawPictures(folder)
          let contents = (0..<size).map { Picture.content($0, bytes: bytes) }
          return {
            try raw.save(contents)
            return size
          }
        },
      ]
    }
  }

  private static func loadAssets(_ size: Int) -> Case {
    Case(name: "fetch objects and load assets of 100 KB", size: size, count: size) { workspace in
      let fixture = try await workspace.fixture("pictures-\(size)") { folder in
        try await workspace.fill(folder.file("ours"), size) { Picture(number: $0, bytes: bytes) }
        try FileManager.default.createDirectory(at: folder.file("raw"), withIntermediateDirectories: true)
        try RawPictures(folder.file("raw")).save((0..<size).map { Picture.content($0, bytes: bytes) })
      }
      let magic = try await MagicData(path: fixture.file("ours"))
      let raw = RawPictures(fixture.file("raw"))
      return [
        Side("MagicData, verified") { _ in
          { try await magic.object(of: Picture.self).reduce(0) { $0 + (try $1.content.load().count) } }
        },
        Side("raw SQLite and files") { _ in { try raw.load().reduce(0) { $0 + $1.count } } },
      ]
    }
  }
}
