package import Foundation

extension URL {
  /// What a link leads to, whether that is there or not. One that leads through more links than the system follows, as back to
  /// itself, comes to one of these.
  package var linked: URL {
    var place = self
    for _ in 0..<URL.mostLinks {
      // It fails for what is no link, or is not there: then that is the place.
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: place.path) else { break }
      if let real = place.real { return real }
      // `..` of a link's target is that of the folder which the link is in, whatever links led there.
      let next = target.hasPrefix("/") ? target : place.deletingLastPathComponent().path + "/" + target
      let named = URL(fileURLWithPath: next)
      place = named.deletingLastPathComponent().real?.appendingPathComponent(named.lastPathComponent) ?? named
    }
    return place
  }

  /// `nil` if nothing is there.
  private var real: URL? {
    guard let path = realpath(path, nil) else { return nil }
    defer { free(path) }
    return URL(fileURLWithPath: String(cString: path))
  }

  /// As the system follows them.
  private static let mostLinks = 40
}
