import MagicJournal
import MagicReplication

/// A timeline as a drawing.
struct Plot {
  private let timeline: Timeline

  init(_ timeline: Timeline) {
    self.timeline = timeline
  }

  /// Changes of all replicas together, from the lowest bar to the highest.
  func sparkline(width: Int) -> String {
    let bars = Array("▁▂▃▄▅▆▇█")
    let total = total
    guard let most = total.max(), most > 0, width > 0 else { return "" }
    let columns = min(width, total.count)
    let sums = (0..<columns).map { column in
      total[column * total.count / columns..<max(column * total.count / columns + 1, (column + 1) * total.count / columns)]
        .reduce(0, +)
    }
    let highest = max(sums.max() ?? 1, 1)
    return String(sums.map { $0 == 0 ? " " : bars[($0 * (bars.count - 1) + highest / 2) / highest] })
  }

  private var total: [Int] {
    var total = Array(repeating: 0, count: timeline.length)
    for row in timeline.counts.values { for (index, count) in row.enumerated() { total[index] += count } }
    return total
  }

  private static let colours = [
    "#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0",
  ]
  private static let (width, height, left, gap) = (860, 200, 70, 60)

  /// Above, changes over time, stacked by replica; below, how the journal grew. Replicas stand in the order of their ids, so
  /// that the same journal gives the same file.
  var svg: String {
    let replicas = timeline.counts.keys.sorted()
    let spans = max(timeline.length, 1)
    let (most, bytes) = (max(total.max() ?? 0, 1), max(timeline.bytes.reduce(0, +), 1))
    let bottom = Plot.gap + Plot.height * 2 + Plot.gap
    var svg = """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(Plot.left + Plot.width + 20)" height="\(bottom + 50 + 18 * replicas.count)" \
      font-family="sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="white"/>
      <text x="\(Plot.left)" y="24" font-size="15">Changes per \(Plot.name(of: timeline.span)), by replica</text>

      """
    var floor = Array(repeating: 0, count: spans)
    for (number, replica) in replicas.enumerated() {
      svg += "<g fill=\"\(Plot.colours[number % Plot.colours.count])\">\n"
      for (index, count) in (timeline.counts[replica] ?? []).enumerated() where count > 0 {
        let top = Plot.gap - 20 + Plot.height - Plot.height * (floor[index] + count) / most
        let base = Plot.gap - 20 + Plot.height - Plot.height * floor[index] / most
        floor[index] += count
        let (x, end) = (Plot.left + Plot.width * index / spans, Plot.left + Plot.width * (index + 1) / spans)
        svg +=
          "<rect x=\"\(x)\" y=\"\(top)\" width=\"\(max(1, end - x - (spans < 120 ? 1 : 0)))\" height=\"\(max(1, base - top))\"/>\n"
      }
      svg += "</g>\n"
    }
    svg += axis(top: Plot.gap - 20, label: "\(most)")
    svg +=
      "<text x=\"\(Plot.left)\" y=\"\(Plot.gap + Plot.height + 24)\" font-size=\"15\">Journal growth: bytes of values</text>\n"
    var (points, sum): ([String], Int) = ([], 0)
    let top = Plot.gap + Plot.height + 40
    for (index, size) in timeline.bytes.enumerated() {
      sum += size
      points.append(
        "\(Plot.left + Plot.width * (index + 1) / spans),\(top + Plot.height - Int(Double(Plot.height) * Double(sum) / Double(bytes)))"
      )
    }
    let start = "\(Plot.left),\(top + Plot.height)"
    svg +=
      "<polyline fill=\"none\" stroke=\"#4269d0\" stroke-width=\"2\" points=\"\(([start] + points).joined(separator: " "))\"/>\n"
    svg += axis(top: top, label: "\(bytes)")
    let end = timeline.start + timeline.span * Int64(spans)
    for (x, anchor, time) in [(Plot.left, "start", timeline.start), (Plot.left + Plot.width, "end", end)] {
      let text = Stamp(UInt64(max(0, time)) << 16).inLog.prefix(16).replacing("T", with: " ")
      svg += "<text x=\"\(x)\" y=\"\(top + Plot.height + 18)\" text-anchor=\"\(anchor)\">\(text)</text>\n"
    }
    for (number, replica) in replicas.enumerated() {
      let y = top + Plot.height + 40 + 18 * number
      svg +=
        "<rect x=\"\(Plot.left)\" y=\"\(y - 10)\" width=\"12\" height=\"12\" fill=\"\(Plot.colours[number % Plot.colours.count])\"/>\n"
      svg += "<text x=\"\(Plot.left + 18)\" y=\"\(y)\">\(replica)</text>\n"
    }
    return svg + "</svg>\n"
  }

  private func axis(top: Int, label: String) -> String {
    """
    <path d="M\(Plot.left) \(top)V\(top + Plot.height)H\(Plot.left + Plot.width)" fill="none" stroke="black"/>
    <text x="\(Plot.left - 6)" y="\(top + 10)" text-anchor="end">\(label)</text>
    <text x="\(Plot.left - 6)" y="\(top + Plot.height)" text-anchor="end">0</text>

    """
  }

  private static func name(of span: Int64) -> String {
    let minutes = span / 60_000
    return minutes < 60
      ? "\(minutes) min" : minutes < 2_880 ? "\(minutes / 60) h \(minutes % 60) min" : "\(minutes / 1_440) days"
  }
}
