import Foundation
import MagicData
import TestSupport
import Testing

struct Film: MagicObject {
  @PrimaryMagicValue var id: String
  @MagicValue var script: AsyncMagical<MagicAsset<String>>

  init() {}
}

/// The examples of what is kept in files, beside those of `QuickStart`.
@Suite struct Assets {
  @Test func anAssetIsReadWhenItIsAskedFor() async throws {
    let magic = try await MagicData(type: .temporary)

    let film = Film()
    film.script = AsyncMagical(value: MagicAsset(value: "Fade in.", pathExtension: "txt"))
    try await magic.update(film)

    let same = try await magic.object(of: Film.self, primary: film.id)
    let script = try await same.script.get()
    print(script.value ?? "nothing", "from", script.path ?? "no file")

    #expect(script.value == "Fade in.")
    #expect(script.path?.hasSuffix(".txt") == true)
  }

  @Test func aFileGoesAwayWithTheLastThatNamesIt() async throws {
    let magic = try await MagicData(type: .temporary)
    let article = Article()
    article.text = .init(value: "Once upon a time.")
    article.photo = .init(value: Data([0xff, 0xd8]), pathExtension: "jpeg")
    try await magic.update(article)
    let fetched = try await magic.object(of: Article.self, primary: article.id)
    let photo = try #require(fetched.photo?.path)

    fetched.text.value = "The end."
    fetched.photo = nil
    try await magic.update(fetched)

    #expect(!FileManager.default.fileExists(atPath: photo))
    #expect(try await magic.object(of: Article.self, primary: article.id).text.load() == "The end.")
  }
}
