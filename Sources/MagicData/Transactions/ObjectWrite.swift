/// A change of objects in its three parts, so that it is written once, for those who await the database and for those who
/// block.
///
/// To make one is the first part: it takes from the instances, on their owner's side, what is to be written.
struct ObjectWrite<Done: Sendable, Result> {
  /// Contents that are to be on the disk, and named, before.
  var assets: [AssetToSave] = []
  /// What the database does, wherever its connection is.
  let work: @Sendable (inout LocalTransaction, StagedAssets) throws -> Done
  /// What the instances learn of it, on their owner's side again.
  let finish: (Done, StagedAssets) throws -> Result
}
