import Foundation
import MagicData

struct Note: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var title: String
  @MagicValue var stars: Int = 0

  init() {}

  init(_ id: String, _ title: String) {
    self.id = id
    self.title = title
  }
}

struct Photo: MagicObject {
  @PrimaryMagicValue var id: String
  @OptionMagicValue var content: MagicAsset<String>?
  @OptionMagicValue var note: String?

  init() {}

  init(_ id: String, _ content: String) {
    self.id = id
    self.content = .init(value: content, pathExtension: "txt")
  }
}
