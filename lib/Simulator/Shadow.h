//===- Shadow.h - who touched each piece of shared memory last ------------===//
//
// Shared memory is followed in lines of 16 bytes, the unit of wide loads, ldmatrix and asynchronous
// copies. A line that is accessed in part is followed as four words from then on, a word that is
// accessed in part as four bytes.
//
// Each piece carries its last writer, its last readers since, and the epoch of both: stamps of an
// older epoch are ordered before everything. Readers of one warp are kept in place. When warps read
// without being ordered, which is usual, the piece refers to a set with an entry per warp; sets live
// as long as the epoch.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_SHADOW_H
#define HEDDLE_LIB_SIMULATOR_SHADOW_H

#include "WarpClock.h"
#include <vector>

namespace heddle::sim {

/// The earlier access that a later one is in conflict with.
struct Conflict {
  enum Kind { None, Uninitialized, Race, InFlight } kind = None;
  bool earlierIsWrite = false;
  uint32_t warp = 0, lane = 0, op = 0; // of the earlier access
  uint32_t address = 0;                // first byte in conflict
};

enum class AccessKind { Read, Write, Atomic };

class Shadow {
public:
  /// Forgets everything: `bytes` of memory that nobody has written.
  void reset(uint32_t bytes, uint32_t numWarps, bool checkRaces, bool checkUninitialized);

  /// A barrier of the whole CTA.
  void nextEpoch() {
    ++epoch;
    readerSets.clear();
  }

  /// Records an access of [offset, offset + size) and returns the first conflict.
  Conflict access(AccessKind kind, uint32_t offset, uint32_t size, const Actor &actor,
                  const WarpClock &clock);

  /// An asynchronous copy is issued: its destination counts as being written until it lands.
  Conflict startCopy(uint32_t offset, uint32_t size, const Actor &actor, const WarpClock &clock);
  /// The copy takes effect, as a write of `actor`.
  void finishCopy(uint32_t offset, uint32_t size, const Actor &actor);

private:
  enum Flags : uint8_t {
    Initialized = 1,
    Split = 2,
    Flying = 4,
    AtomicWrite = 8,
    ManyReaders = 16
  };

  struct Piece {
    uint32_t epoch;
    uint32_t writeLane, writeClock, writeOp;
    uint32_t readLanes; // or the index of a reader set; 0: none
    uint32_t readClock, readOp;
    uint8_t writeWarp, readWarp, flags;
    uint8_t hasWriter;
  };
  struct Reader {
    uint32_t lanes = 0, clock = 0, op = 0;
  };

  template <typename Function> void visit(uint32_t offset, uint32_t size, Function function);
  void splitPiece(Piece &piece, Piece *parts);

  void refresh(Piece &piece);
  Conflict read(Piece &piece, const Actor &actor, const WarpClock &clock);
  Conflict write(Piece &piece, bool atomic, const Actor &actor, const WarpClock &clock);
  void addReader(Piece &piece, const Actor &actor, const WarpClock &clock);
  void setWriter(Piece &piece, const Actor &actor);

  std::vector<Piece> lines, words, bytes;
  std::vector<Reader> readerSets;
  uint32_t epoch = 0, numWarps = 0;
  bool checkRaces = false, checkUninitialized = false;
};

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_SHADOW_H
