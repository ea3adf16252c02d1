internal import Foundation

/// The C library's heap.
enum Heap {
  /// glibc gives threads arenas of their own. What one thread reads and another lets go of stays in the one's arena, which made
  /// up 30 MB of a pull of two million changes; and it is no slower with one for all.
  static func shareOneArena() {
    #if canImport(Glibc)
      // Its header is in no module.
      guard let function = dlsym(nil, "mallopt") else { return }
      let (mArenaMax, one) = (Int32(-8), Int32(1))
      _ = unsafeBitCast(function, to: (@convention(c) (Int32, Int32) -> Int32).self)(mArenaMax, one)
    #endif
  }
}
