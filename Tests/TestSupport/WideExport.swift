public import Foundation

/// What another app's replica could bring: one object of each of some types, which have as many fields.
public struct WideExport {
  public let data: Data

  /// - Parameters:
  ///   - number: of the replica, from 0 on: each has other fields, and other types if there are several.
  ///   - object: its primary value.
  ///   - replica: another number for the replica alone.
  public init(_ counts: [Int], number: Int, object: String, replica: Int? = nil) {
    let dataSet = String(repeating: "1", count: 32)
    let (replica, first) = (String(repeating: "\((replica ?? number) + 2)", count: 32), number * 600)
    let types = counts.indices.map { counts.count == 1 ? "T" : "T\(number * counts.count + $0)" }
    let schema = zip(types, counts).map { type, count in
      let fields = (first..<first + count).map { #"{"id":"f\#($0)","name":"f\#($0)","kind":"integer"}"# }
      return
        #"{"type":{"id":"\#(type)","name":"\#(type)","primary":{"name":"id","kind":"text"},"fields":[\#(fields.joined(separator: ","))]}}"#
    }
    // A segment tells of the fields that its entries have.
    let entries = zip(types, counts).map { type, count in
      let values = (first..<first + count).map { #""f\#($0)":1"# }
      return #"{"type":"\#(type)","op":"update","object":"\#(object)","fields":{\#(values.joined(separator: ","))}}"#
    }
    let lines =
      [#"{"magicdata":"journal","format":1,"dataSet":"\#(dataSet)"}"#] + schema + [
        #"{"transaction":{"replica":"\#(replica)","sequence":1,"stamp":"\#(65_536 * (number + 1))","tag":1,"root":"\#(replica)","entries":[\#(entries.joined(separator: ","))]}}"#,
        #"{"end":{"transactions":1}}"#,
      ]
    data = Data((lines.joined(separator: "\n") + "\n").utf8)
  }
}
