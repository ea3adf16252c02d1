internal import Foundation
internal import MagicData
internal import MagicJournal

/// Feeds a decoder with what it has to stand (H-32): each input is taken or refused with an error that says where or why.
///
/// While an input is decoded it stands in a file, which outlives a crash; `Tools/fuzz` names it.
package struct Fuzz {
  private let decoder: String
  private let corpus: [[UInt8]]
  private let words: [String]
  private let inputs: Int

  /// - Parameters:
  ///   - inputs: for each seed.
  ///   - words: see `Mutator`.
  package init(_ decoder: String, _ corpus: [[UInt8]], words: [String] = [], inputs: Int) {
    (self.decoder, self.corpus, self.words, self.inputs) = (decoder, corpus, words, inputs)
  }

  package init(_ decoder: String, texts: [String], words: [String] = [], inputs: Int) {
    self.init(decoder, texts.map { Array($0.utf8) }, words: words, inputs: inputs)
  }

  /// What an input came to.
  package enum Outcome: Equatable {
    case read
    /// Of a format in which nothing can be said in two ways: what was read, said again.
    case canonical([UInt8])
    case refused
  }

  /// - Parameters:
  ///   - count: of seeds, unless the environment says another.
  ///   - decode: throws what a decoder throws.
  /// - Returns: what is wrong, each with what it takes to see it again.
  package func faults(seeds count: UInt64 = 2, _ decode: ([UInt8]) async throws -> Outcome) async throws -> [String] {
    var (faults, made, read): ([String], Int, Int) = ([], 0, 0)
    for seed in seeds(count) {
      let place = try InputFile("\(decoder)-\(seed)")
      var mutator = Mutator(corpus, words: words, seed: seed)
      // What it all begins with is read.
      for number in -corpus.count..<inputs {
        let input = number < 0 ? corpus[-number - 1] : mutator.next()
        place.write(input)
        do {
          switch try await decode(input) {
          case .read: read += 1
          case .canonical(let again):
            read += 1
            if again != input { faults.append(fault(seed, number, input) + "it is read, and written otherwise") }
          case .refused where number < 0: faults.append(fault(seed, number, input) + "it is right, and was refused")
          case .refused: break
          }
        } catch  where number < 0 || !saysEnough(error) {
          faults.append(fault(seed, number, input) + "\(error)")
        } catch {}
        made += 1
      }
      place.remove()
    }
    if ProcessInfo.processInfo.environment["MAGIC_SEEDS"] != nil {
      FileHandle.standardError.write(Data("fuzzed \(decoder): \(made) inputs, of which \(read) were read\n".utf8))
    }
    return faults
  }

  private func fault(_ seed: UInt64, _ number: Int, _ input: [UInt8]) -> String {
    let bytes = input.prefix(400).hexadecimal + (input.count > 400 ? "..." : "")
    return "\(decoder), MAGIC_SEED=\(seed), input \(number) of \(input.count) bytes \(bytes): "
  }

  private func saysEnough(_ error: any Error) -> Bool {
    switch error {
    case let error as JournalError: error.offset != nil && !error.message.isEmpty
    case let error as MagicDataError: !error.message.isEmpty
    default: false
    }
  }
}

/// Holds the input that is being decoded.
private struct InputFile {
  private let file: URL
  private let descriptor: Int32

  init(_ name: String) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("magic-fuzz")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    file = folder.appendingPathComponent("\(name)-\(ProcessInfo.processInfo.processIdentifier)")
    descriptor = open(file.path, O_RDWR | O_CREAT | O_TRUNC, 0o644)
    guard descriptor >= 0 else { throw DurableFile.failure("could not be made", file) }
  }

  func write(_ input: [UInt8]) {
    ftruncate(descriptor, 0)
    pwrite(descriptor, input, input.count, 0)
  }

  func remove() {
    close(descriptor)
    unlink(file.path)
  }
}
