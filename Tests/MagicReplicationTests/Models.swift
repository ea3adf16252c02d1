import Foundation
import MagicData

struct Note: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var title: String
  @MagicValue var stars: Int = 0
  @OptionMagicValue var mood: String?

  init() {}

  init(_ id: String, _ title: String) {
    self.id = id
    self.title = title
  }
}

/// Without a primary value.
struct Event: MagicObject {
  @MagicValue var text: String
  @OptionMagicValue var weight: Double?

  init() {}

  init(_ text: String) {
    self.text = text
  }
}

struct Picture: MagicObject {
  @PrimaryMagicValue var id: UUID
  @MagicValue var data: Data

  init() {}
}
