import GRDB
import GRDBSQLite
import MagicData
import TestSupport
import Testing

private struct Wide: MagicObject {
  @PrimaryMagicValue var id: String
  @OptionMagicValue var p0: Int?
  @OptionMagicValue var p1: Int?
  @OptionMagicValue var p2: Int?
  @OptionMagicValue var p3: Int?
  @OptionMagicValue var p4: Int?
  @OptionMagicValue var p5: Int?
  @OptionMagicValue var p6: Int?
  @OptionMagicValue var p7: Int?
  @OptionMagicValue var p8: Int?
  @OptionMagicValue var p9: Int?
  @OptionMagicValue var p10: Int?
  @OptionMagicValue var p11: Int?
  @OptionMagicValue var p12: Int?
  @OptionMagicValue var p13: Int?
  @OptionMagicValue var p14: Int?
  @OptionMagicValue var p15: Int?
  @OptionMagicValue var p16: Int?
  @OptionMagicValue var p17: Int?
  @OptionMagicValue var p18: Int?
  @OptionMagicValue var p19: Int?
  @OptionMagicValue var p20: Int?
  @OptionMagicValue var p21: Int?
  @OptionMagicValue var p22: Int?
  @OptionMagicValue var p23: Int?
  @OptionMagicValue var p24: Int?
  @OptionMagicValue var p25: Int?
  @OptionMagicValue var p26: Int?
  @OptionMagicValue var p27: Int?
  @OptionMagicValue var p28: Int?
  @OptionMagicValue var p29: Int?
  @OptionMagicValue var p30: Int?
  @OptionMagicValue var p31: Int?
  @OptionMagicValue var p32: Int?
  @OptionMagicValue var p33: Int?
  @OptionMagicValue var p34: Int?
  @OptionMagicValue var p35: Int?
  @OptionMagicValue var p36: Int?
  @OptionMagicValue var p37: Int?
  @OptionMagicValue var p38: Int?
  @OptionMagicValue var p39: Int?
  @OptionMagicValue var p40: Int?
  @OptionMagicValue var p41: Int?
  @OptionMagicValue var p42: Int?
  @OptionMagicValue var p43: Int?
  @OptionMagicValue var p44: Int?
  @OptionMagicValue var p45: Int?
  @OptionMagicValue var p46: Int?
  @OptionMagicValue var p47: Int?
  @OptionMagicValue var p48: Int?
  @OptionMagicValue var p49: Int?
  @OptionMagicValue var p50: Int?
  @OptionMagicValue var p51: Int?
  @OptionMagicValue var p52: Int?
  @OptionMagicValue var p53: Int?
  @OptionMagicValue var p54: Int?
  @OptionMagicValue var p55: Int?
  @OptionMagicValue var p56: Int?
  @OptionMagicValue var p57: Int?
  @OptionMagicValue var p58: Int?
  @OptionMagicValue var p59: Int?
  @OptionMagicValue var p60: Int?
  @OptionMagicValue var p61: Int?
  @OptionMagicValue var p62: Int?
  @OptionMagicValue var p63: Int?
  @OptionMagicValue var p64: Int?
  @OptionMagicValue var p65: Int?
  @OptionMagicValue var p66: Int?
  @OptionMagicValue var p67: Int?
  @OptionMagicValue var p68: Int?
  @OptionMagicValue var p69: Int?
  init() {}
}

@Test func aTypeMayHaveManyProperties() async throws {
  let magic = try await MagicData(type: .memory)
  let wide = Wide()
  (wide.p0, wide.p62, wide.p63, wide.p64, wide.p69) = (0, 62, 63, 64, 69)
  try await magic.update(wide)
  let fetched = try await magic.object(of: Wide.self, primary: wide.id)
  #expect([fetched.p0, fetched.p1, fetched.p62, fetched.p63, fetched.p64, fetched.p69] == [0, nil, 62, 63, 64, 69])
  fetched.p69 = nil
  fetched.p68 = 68
  wide.p64 = 1
  try await magic.update(fetched)
  try await magic.update(wide)
  let last = try await magic.object(of: Wide.self, primary: wide.id)
  #expect([last.p62, last.p63, last.p64, last.p65, last.p68, last.p69] == [62, 63, 1, nil, 68, nil])
}

/// A type with many properties can be written in more ways than memory has room for.
@Test(arguments: [false, true]) func manyWaysToWriteLeaveFewStatements(isNew: Bool) async throws {
  let magic = try await MagicData(type: .memory)
  let known = Wide()
  try await magic.update(known)
  for number in 1...400 {
    let wide = isNew ? Wide() : try await magic.object(of: Wide.self, primary: known.id)
    let bits = (0..<9).map { number & 1 << $0 != 0 ? number : nil }
    (wide.p0, wide.p1, wide.p2, wide.p3, wide.p4) = (bits[0], bits[1], bits[2], bits[3], bits[4])
    (wide.p5, wide.p6, wide.p7, wide.p8) = (bits[5], bits[6], bits[7], bits[8])
    try await magic.update(wide)
    let stored = try await magic.object(of: Wide.self, primary: wide.id)
    #expect([stored.p0, stored.p1, stored.p2, stored.p3, stored.p4] == Array(bits[0..<5]))
    #expect([stored.p5, stored.p6, stored.p7, stored.p8] == Array(bits[5...]))
  }
  let count = try await magic.store.write { db in
    var (count, statement) = (0, sqlite3_next_stmt(db.sqliteConnection, nil))
    while statement != nil { (count, statement) = (count + 1, sqlite3_next_stmt(db.sqliteConnection, statement)) }
    return count
  }
  #expect(count < 350)
}
