import Foundation

extension Report {
  /// Draws the cost against the size, one SVG for each name of which there are several sizes. Both axes are logarithmic.
  func plot(to folder: URL) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var names: [String] = []
    for name in cases.map(\.name) where !names.contains(name) { names.append(name) }
    for name in names {
      let measured = cases.filter { $0.name == name }.sorted { $0.size < $1.size }
      guard let plot = Plot(name, measured) else { continue }
      let file = name.lowercased().split { !$0.isLetter && !$0.isNumber }.joined(separator: "-")
      try Data(plot.svg.utf8).write(to: folder.file("\(file).svg"))
    }
  }
}

private struct Plot {
  private let title: String
  private let unit: String
  private let lines: [(name: String, points: [(size: Double, value: Double)])]
  private let sizes: ClosedRange<Double>
  private let values: ClosedRange<Double>

  private static let (width, height, margin) = (640.0, 360.0, 64.0)
  private static let colours = ["#1f4e9c", "#c0392b", "#2e8b57", "#b8860b", "#6a3d9a"]

  init?(_ name: String, _ cases: [Measurement]) {
    title = name
    unit = cases.first?.unit.rawValue ?? ""
    var sides: [String] = []
    for side in cases.flatMap(\.sides) where !sides.contains(side.name) { sides.append(side.name) }
    lines = sides.map { side in
      (
        side,
        cases.compactMap { measured in
          measured.sides.first { $0.name == side && $0.median > 0 }.map { (Double(measured.size), $0.median) }
        }
      )
    }
    let points = lines.flatMap(\.points)
    guard let least = points.map(\.size).min(), let most = points.map(\.size).max(), least < most,
      let lowest = points.map(\.value).min(), let highest = points.map(\.value).max()
    else { return nil }
    sizes = least...most
    values = pow(10, floor(log10(lowest)))...pow(10, floor(log10(highest)) + 1)
  }

  var svg: String {
    var parts = [
      """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Plot.width)) \(Int(Plot.height))" font-family="sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="white"/>
      <text x="\(Plot.margin)" y="24" font-size="15">\(escaped(title))</text>
      <text x="\(Plot.margin)" y="42" fill="gray">\(unit) each, against objects</text>
      """
    ]
    var value = values.lowerBound
    while value <= values.upperBound * 1.001 {
      parts.append(rule(0, y(value), Plot.margin, Plot.width - Plot.margin))
      parts.append(
        #"<text x="\#(Plot.margin - 6)" y="\#(round(y(value)) + 4)" text-anchor="end">\#(String(format: "%g", value))</text>"#)
      value *= 10
    }
    for size in Set(lines.flatMap(\.points).map(\.size)).sorted() {
      parts.append(
        #"<text x="\#(round(x(size)))" y="\#(Plot.height - Plot.margin + 18)" text-anchor="middle">\#(Int(size).grouped)</text>"#
      )
    }
    let legend = (Plot.width - Plot.margin / 2) / Double(lines.count)
    for (index, line) in lines.enumerated() {
      let colour = Plot.colours[index % Plot.colours.count]
      let path = line.points.map { "\(round(x($0.size))),\(round(y($0.value)))" }.joined(separator: " ")
      parts.append(#"<polyline points="\#(path)" fill="none" stroke="\#(colour)" stroke-width="2"/>"#)
      for point in line.points {
        parts.append(#"<circle cx="\#(round(x(point.size)))" cy="\#(round(y(point.value)))" r="3" fill="\#(colour)"/>"#)
      }
      parts.append(
        #"<text x="\#(round(Plot.margin / 2 + Double(index) * legend))" y="\#(Plot.height - 16)" fill="\#(colour)">\#(escaped(line.name))</text>"#
      )
    }
    return parts.joined(separator: "\n") + "\n</svg>\n"
  }

  private func rule(_ x: Double, _ y: Double, _ from: Double, _ to: Double) -> String {
    #"<line x1="\#(from)" x2="\#(to)" y1="\#(round(y))" y2="\#(round(y))" stroke="lightgray"/>"#
  }

  private func x(_ size: Double) -> Double {
    place(size, sizes) * (Plot.width - 2 * Plot.margin) + Plot.margin
  }

  private func y(_ value: Double) -> Double {
    Plot.height - Plot.margin - place(value, values) * (Plot.height - 2 * Plot.margin)
  }

  private func place(_ value: Double, _ range: ClosedRange<Double>) -> Double {
    log(value / range.lowerBound) / log(range.upperBound / range.lowerBound)
  }

  private func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
  }
}
