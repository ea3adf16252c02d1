import Foundation
import MagicData

struct Author: MagicObject {
  @PrimaryMagicValue var email: String
  @MagicValue var name: String
  @OptionMagicValue var note: String?

  init() {}
}

struct Commit: MagicObject {
  @PrimaryMagicValue var hash: String
  @MagicValue var subject: String
  @MagicValue var date: Date
  /// The primary value of its author.
  @MagicValue var author: String
  @OptionMagicValue var label: String?
  @OptionMagicValue var rating: Int?
  @OptionMagicValue var verdict: String?

  init() {}
}

/// Has no primary value: two remarks are never one, whatever they say.
struct Remark: MagicObject {
  @MagicValue var commit: String
  @MagicValue var text: String

  init() {}

  init(on commit: String, _ text: String) {
    self.commit = commit
    self.text = text
  }
}
