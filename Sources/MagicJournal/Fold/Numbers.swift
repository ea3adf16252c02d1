/// The numbers of one type's objects: those that apps set, and those that are claimed (Protocol/merge.md, Automatic numbers).
package struct Numbers: Sendable {
  /// What can be claimed (J-26).
  package static let claimable: ClosedRange<Int64> = 1...hashed.lowerBound - 1
  /// Where the numbers of lost claims are (M-17).
  package static let hashed: Range<Int64> = 1 << 61..<1 << 62

  private var set: Set<Int64> = []
  private var claims: [Birth: Int64] = [:]

  package init() {}

  /// To be called for every object that an entry speaks of, alive or not.
  package mutating func add(_ key: ObjectKey, claim: Int64?) {
    switch key {
    case .primary(.integer(let number)): set.insert(number)
    case .primary: break
    case .birth(let birth): claims[birth] = claim
    }
  }

  /// What an entry says of its object's number.
  package mutating func add(_ entry: Entry) {
    switch entry.key {
    case .primary(.integer(let number)): set.insert(number)
    case .primary: break
    case .birth(let birth):
      if let number = entry.operation.number { claims[birth] = max(claims[birth] ?? number, number) }  // M-20
    }
  }

  package var claimed: [Claim] { claims.map { Claim(number: $1, birth: $0) } }

  /// The number of each object that has claimed one.
  package var shown: [Birth: Int64] {
    Numbers.shown(claims.map { Claim(number: $1, birth: $0) }) { set.contains($0) }
  }

  /// - Parameter isSet: whether an app has set a number.
  package static func shown(_ claims: [Claim], isSet: (Int64) throws -> Bool) rethrows -> [Birth: Int64] {
    var shown: [Birth: Int64] = [:]
    var held: Set<Int64> = []
    var lost: [Birth] = []
    for claim in claims.sorted(by: { $0.birth < $1.birth }) {
      if try !isSet(claim.number), held.insert(claim.number).inserted {
        shown[claim.birth] = claim.number
      } else {
        lost.append(claim.birth)
      }
    }
    for birth in lost {
      for number in birth.ownNumbers {
        guard try !isSet(number), held.insert(number).inserted else { continue }
        shown[birth] = number
        break
      }
    }
    return shown
  }

  /// Whether an object with a number has lost its claim.
  package static func isLost(_ shown: Int64) -> Bool { !claimable.contains(shown) }
}

/// An object's claim to a number.
package struct Claim: Sendable, Hashable {
  package let number: Int64
  package let birth: Birth

  package init(number: Int64, birth: Birth) {
    self.number = number
    self.birth = birth
  }
}

extension Birth {
  /// The numbers to try, in this order, for an object that has lost its claim (M-17).
  package var ownNumbers: OwnNumbers { OwnNumbers(self) }
}

/// Endless. Each number is a hash of what the one before hashed and one more zero byte, so that each costs the same
/// however many are taken.
package struct OwnNumbers: Sequence, IteratorProtocol {
  private var hash = SHA256()

  fileprivate init(_ birth: Birth) {
    birth.bytes.withUnsafeBytes { hash.update($0) }
  }

  package mutating func next() -> Int64? { another() }

  package mutating func another() -> Int64 {
    var whole = hash
    let start = whole.finish().prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    withUnsafeBytes(of: 0 as UInt8) { hash.update($0) }
    return Numbers.hashed.lowerBound + Int64(start & UInt64(Numbers.hashed.lowerBound - 1))
  }
}
