internal import GRDB
package import MagicJournal

/// The numbers of a type's objects: `magic_claim` knows every claim, also of objects that were removed (M-16 to M-20).
extension ObjectTable {
  /// The number that an object named by its birth has; `nil` if its claim has not arrived.
  func number(of key: ObjectKey, claim: Int64?) throws -> Int64? {
    guard type.schema.hasNumbers, case .birth(let birth) = key, let claim else { return nil }
    if try self.claim(showing: claim)?.birth == birth { return claim }
    // Each attempt that is not its own is taken by another, so there are few.
    for number in birth.ownNumbers {
      let other = try self.claim(showing: number)
      if other?.birth == birth { return number }
      guard try other != nil || isSet(number) else { break }
    }
    throw MagicDataError(.notADatabase, "the database is damaged: a claim to a number is not there")
  }

  /// The number of an object that has a row at a z index.
  package func number(at zIndex: Int64) throws -> Int64? {
    var select = try SQL(db, type.selectNumber)
    try select.bind(zIndex)
    return try select.step() && !select.isNull(0) ? select.integer(0) : nil
  }

  /// Every claim, with the number that its object has.
  package func claims() throws -> [(claim: Claim, shown: Int64)] {
    var claims: [(Claim, Int64)] = []
    var select = try SQL(db, Statements.selectClaims)
    try select.bind(type.id)
    while try select.step() {
      claims.append((Claim(number: select.integer(2), birth: try select.birth(1)), select.integer(0)))
    }
    return claims
  }

  /// Makes claims, and the numbers in rows, what entries say of them: for what somebody else has changed.
  package func replaceNumbers(_ numbers: Numbers) throws {
    for (_, shown) in try claims() { try deleteClaim(showing: shown) }
    let shown = numbers.shown
    for claim in numbers.claimed { if let number = shown[claim.birth] { try insert(claim, showing: number) } }
    var wrong: [Birth] = []
    try forEachRow { key, place in
      if case .birth(let birth) = key, try number(at: place.zIndex) != shown[birth] { wrong.append(birth) }
    }
    // Two may have each other's.
    for birth in wrong { try show(nil, of: birth) }
    for birth in wrong { try show(shown[birth], of: birth) }
  }

  /// What a number that the app sets means (J-28).
  package func named(by key: ObjectKey) throws -> ObjectKey {
    guard type.schema.hasNumbers, case .primary(.integer(let number)) = key else { return key }
    return try claim(showing: number).map { .birth($0.birth) } ?? key
  }

  /// The next number, one above all that were given or set (J-27).
  func nextNumber() throws -> Int64 {
    let bound = Numbers.hashed.lowerBound
    var highest: Int64 = 0
    var claims = try SQL(db, Statements.selectHighestClaim)
    try claims.bind(type.id)
    try claims.bind(bound)
    if try claims.step() { highest = max(highest, claims.integer(0)) }
    var rows = try SQL(db, type.selectHighest)
    try rows.bind(bound)
    if try rows.step() { highest = max(highest, rows.integer(0)) }
    var absent = try SQL(db, Statements.selectHighestAbsent)
    try absent.bind(type.id)
    try absent.bind(bound)
    if try absent.step() { highest = max(highest, absent.integer(0)) }
    return highest + 1
  }

  /// A claim that nobody can have an older one of.
  func claim(next claim: Claim) throws {
    try insert(claim, showing: claim.number)
  }

  /// A claim that has arrived. Another object's number may change by it.
  ///
  /// - Parameter before: what the object has claimed already; of one that was never heard of, nothing.
  /// - Returns: the object's number.
  @discardableResult
  package func claim(_ claim: Claim, before: Int64?) throws -> Int64? {
    if let before {
      guard before < claim.number else { return nil }
      try renumber(without: Claim(number: before, birth: claim.birth), with: claim)  // M-20
    } else if try isSet(claim.number) {
      try lose(claim)
    } else if let holder = try self.claim(showing: claim.number) {
      guard claim.birth < holder.birth else {
        try lose(claim)
        return try number(of: .birth(claim.birth), claim: claim.number)
      }
      try deleteClaim(showing: claim.number)
      try insert(claim, showing: claim.number)
      try lose(holder)
      try show(claim.number, of: claim.birth)
    } else {
      try insert(claim, showing: claim.number)
      try show(claim.number, of: claim.birth)
    }
    return try number(of: .birth(claim.birth), claim: claim.number)
  }

  /// An app has set a number: no claim holds it from here on.
  package func set(_ number: Int64) throws {
    guard let holder = try claim(showing: number) else { return }
    try deleteClaim(showing: number)
    guard Numbers.isLost(number) else { return try lose(holder, to: number) }
    try renumber(with: holder, to: number)
  }

  /// The claim's object gets a number of its own.
  ///
  /// - Parameter set: a number that is set, though no entry says so yet.
  private func lose(_ claim: Claim, to set: Int64? = nil) throws {
    var own = claim.birth.ownNumbers
    let number = own.another()
    if try self.claim(showing: number) != nil || isSet(number) { return try renumber(with: claim, to: set) }
    try insert(claim, showing: number)
    try show(number, of: claim.birth)
  }

  /// Works all numbers of the type out anew: where hashes meet, who gets which depends on all claims.
  private func renumber(without removed: Claim? = nil, with claim: Claim, to set: Int64? = nil) throws {
    var before: [Birth: Int64] = [:]
    var claims = [claim]
    var select = try SQL(db, Statements.selectClaims)
    try select.bind(type.id)
    while try select.step() {
      let known = Claim(number: select.integer(2), birth: try select.birth(1))
      before[known.birth] = select.integer(0)
      if known != removed { claims.append(known) }
    }
    if let removed, let number = before.removeValue(forKey: removed.birth) { try deleteClaim(showing: number) }
    let shown = try Numbers.shown(claims) { number in try number == set || isSet(number) }
    let changed = claims.filter { before[$0.birth] != shown[$0.birth] }
    for number in changed.compactMap({ before[$0.birth] }) { try deleteClaim(showing: number) }
    for claim in changed { try show(nil, of: claim.birth) }
    for claim in changed {
      guard let number = shown[claim.birth] else { continue }
      try insert(claim, showing: number)
      try show(number, of: claim.birth)
    }
  }

  /// Whether an app has set a number, of an object that is alive or not.
  private func isSet(_ number: Int64) throws -> Bool {
    let key = ObjectKey.primary(.integer(number))
    if try place(of: key) != nil { return true }
    return try absentPlace(of: key).map { !$0.last.isNone } ?? false
  }

  /// Sets the number of an object that has a row.
  private func show(_ number: Int64?, of birth: Birth) throws {
    var update = try SQL(db, type.updateNumber)
    if let number { try update.bind(number) } else { try update.bindNull() }
    try update.bind(birth)
    try update.run()
  }

  private func claim(showing number: Int64) throws -> Claim? {
    var select = try SQL(db, Statements.selectClaim)
    try select.bind(type.id)
    try select.bind(number)
    return try select.step() ? Claim(number: select.integer(1), birth: try select.birth(0)) : nil
  }

  private func insert(_ claim: Claim, showing number: Int64) throws {
    var insert = try SQL(db, Statements.insertClaim)
    try insert.bind(type.id)
    try insert.bind(number)
    try insert.bind(claim.birth)
    try insert.bind(claim.number)
    try insert.run()
  }

  private func deleteClaim(showing number: Int64) throws {
    var delete = try SQL(db, Statements.deleteClaim)
    try delete.bind(type.id)
    try delete.bind(number)
    try delete.run()
  }
}
