//===- Shadow.cpp - conflicts between accesses of shared memory -----------===//

#include "Shadow.h"
#include <cstring>

using namespace heddle::sim;

void Shadow::reset(uint32_t size, uint32_t warps, bool races, bool uninitialized) {
  size_t numLines = (size + 15) / 16;
  if (lines.size() < numLines) {
    lines.resize(numLines);
    words.clear();
    bytes.clear();
  }
  std::memset(static_cast<void *>(lines.data()), 0, numLines * sizeof(Piece));
  readerSets.clear();
  epoch = 1;
  numWarps = warps;
  checkRaces = races;
  checkUninitialized = uninitialized;
}

/// Calls function(piece, address) for each piece of the range, after splitting those that the range
/// covers in part.
template <typename Function> void Shadow::visit(uint32_t offset, uint32_t size, Function function) {
  uint32_t end = offset + size;
  for (uint32_t line = offset / 16; line * 16 < end; ++line) {
    bool wholeLine = offset <= line * 16 && line * 16 + 16 <= end;
    if (wholeLine && !(lines[line].flags & Split)) {
      function(lines[line], line * 16);
      continue;
    }
    if (!(lines[line].flags & Split)) {
      words.resize(lines.size() * 4);
      splitPiece(lines[line], &words[line * 4]);
    }
    for (uint32_t word = line * 4; word < line * 4 + 4; ++word) {
      if (word * 4 + 4 <= offset || word * 4 >= end)
        continue;
      bool wholeWord = offset <= word * 4 && word * 4 + 4 <= end;
      if (wholeWord && !(words[word].flags & Split)) {
        function(words[word], word * 4);
        continue;
      }
      if (!(words[word].flags & Split)) {
        bytes.resize(lines.size() * 16);
        splitPiece(words[word], &bytes[word * 4]);
      }
      for (uint32_t byte = word * 4; byte < word * 4 + 4; ++byte)
        if (byte >= offset && byte < end)
          function(bytes[byte], byte);
    }
  }
}

void Shadow::splitPiece(Piece &piece, Piece *parts) {
  refresh(piece);
  for (int i = 0; i < 4; ++i) {
    parts[i] = piece;
    if (!(piece.flags & ManyReaders))
      continue;
    size_t from = piece.readLanes;
    parts[i].readLanes = uint32_t(readerSets.size());
    for (uint32_t warp = 0; warp < numWarps; ++warp) {
      Reader reader = readerSets[from + warp];
      readerSets.push_back(reader);
    }
  }
  piece.flags |= Split;
}

/// Drops stamps of an older epoch.
void Shadow::refresh(Piece &piece) {
  if (piece.epoch == epoch)
    return;
  piece.epoch = epoch;
  piece.readLanes = 0;
  // The writer of a copy in flight is still to write.
  if (!(piece.flags & Flying))
    piece.hasWriter = 0;
  piece.flags &= uint8_t(~(AtomicWrite | ManyReaders));
}

static bool isOrdered(uint32_t warp, uint32_t lanes, uint32_t time, const Actor &actor,
                      const WarpClock &clock) {
  if (warp == actor.warp)
    return clock.orderedInWarp(lanes, time, actor.lanes);
  return time < clock.heard.time[warp];
}

static uint32_t lowestLane(uint32_t lanes) { return uint32_t(__builtin_ctz(lanes)); }

Conflict Shadow::read(Piece &piece, const Actor &actor, const WarpClock &clock) {
  Conflict conflict;
  if (piece.flags & Flying) {
    conflict = {Conflict::InFlight, true, piece.writeWarp, piece.writeLane, piece.writeOp, 0};
  } else if (checkUninitialized && !(piece.flags & Initialized)) {
    conflict.kind = Conflict::Uninitialized;
  } else if (checkRaces && piece.hasWriter &&
             !isOrdered(piece.writeWarp, 1u << piece.writeLane, piece.writeClock, actor, clock)) {
    conflict = {Conflict::Race, true, piece.writeWarp, piece.writeLane, piece.writeOp, 0};
  }
  if (checkRaces)
    addReader(piece, actor, clock);
  return conflict;
}

/// Joins a reader to others of its warp. Reads that are ordered before this one need not be kept: a
/// write that this one is ordered before comes after them as well.
static void join(uint32_t &lanes, uint32_t &time, uint32_t &op, const Actor &actor,
                 const WarpClock &clock) {
  if (!lanes || isOrdered(actor.warp, lanes, time, actor, clock))
    lanes = 0;
  lanes |= actor.lanes;
  time = actor.clock;
  op = actor.op;
}

void Shadow::addReader(Piece &piece, const Actor &actor, const WarpClock &clock) {
  if (piece.flags & ManyReaders) {
    Reader &reader = readerSets[piece.readLanes + actor.warp];
    join(reader.lanes, reader.clock, reader.op, actor, clock);
    return;
  }
  if (!piece.readLanes || piece.readWarp == actor.warp) {
    join(piece.readLanes, piece.readClock, piece.readOp, actor, clock);
    piece.readWarp = uint8_t(actor.warp);
    return;
  }
  if (isOrdered(piece.readWarp, piece.readLanes, piece.readClock, actor, clock)) {
    piece.readLanes = actor.lanes;
    piece.readClock = actor.clock;
    piece.readOp = actor.op;
    piece.readWarp = uint8_t(actor.warp);
    return;
  }
  size_t set = readerSets.size();
  readerSets.resize(set + numWarps);
  readerSets[set + piece.readWarp] = {piece.readLanes, piece.readClock, piece.readOp};
  readerSets[set + actor.warp] = {actor.lanes, actor.clock, actor.op};
  piece.readLanes = uint32_t(set);
  piece.flags |= ManyReaders;
}

void Shadow::setWriter(Piece &piece, const Actor &actor) {
  piece.hasWriter = 1;
  piece.writeWarp = uint8_t(actor.warp);
  piece.writeLane = lowestLane(actor.lanes);
  piece.writeClock = actor.clock;
  piece.writeOp = actor.op;
  piece.readLanes = 0;
  piece.flags &= uint8_t(~(AtomicWrite | ManyReaders));
}

Conflict Shadow::write(Piece &piece, bool atomic, const Actor &actor, const WarpClock &clock) {
  Conflict conflict;
  auto against = [&](bool isWrite, uint32_t warp, uint32_t lanes, uint32_t time, uint32_t op) {
    if (conflict.kind == Conflict::None && !isOrdered(warp, lanes, time, actor, clock)) {
      // Name a lane other than the writer's own.
      uint32_t others = warp == actor.warp ? lanes & ~actor.lanes : lanes;
      conflict = {Conflict::Race, isWrite, warp, lowestLane(others ? others : lanes), op, 0};
    }
  };
  if (piece.flags & Flying) {
    conflict = {Conflict::InFlight, true, piece.writeWarp, piece.writeLane, piece.writeOp, 0};
  } else if (atomic && checkUninitialized && !(piece.flags & Initialized)) {
    conflict.kind = Conflict::Uninitialized;
  } else if (checkRaces) {
    if (piece.hasWriter && !(atomic && (piece.flags & AtomicWrite)))
      against(true, piece.writeWarp, 1u << piece.writeLane, piece.writeClock, piece.writeOp);
    if (piece.flags & ManyReaders) {
      for (uint32_t warp = 0; warp < numWarps; ++warp) {
        const Reader &reader = readerSets[piece.readLanes + warp];
        if (reader.lanes)
          against(false, warp, reader.lanes, reader.clock, reader.op);
      }
    } else if (piece.readLanes) {
      against(false, piece.readWarp, piece.readLanes, piece.readClock, piece.readOp);
    }
  }
  setWriter(piece, actor);
  piece.flags |= uint8_t(Initialized | (atomic ? AtomicWrite : 0));
  piece.flags &= uint8_t(~Flying);
  return conflict;
}

Conflict Shadow::access(AccessKind kind, uint32_t offset, uint32_t size, const Actor &actor,
                        const WarpClock &clock) {
  Conflict first;
  visit(offset, size, [&](Piece &piece, uint32_t address) {
    refresh(piece);
    Conflict conflict = kind == AccessKind::Read
                            ? read(piece, actor, clock)
                            : write(piece, kind == AccessKind::Atomic, actor, clock);
    if (conflict.kind != Conflict::None && first.kind == Conflict::None) {
      first = conflict;
      first.address = address;
    }
  });
  return first;
}

Conflict Shadow::startCopy(uint32_t offset, uint32_t size, const Actor &actor,
                           const WarpClock &clock) {
  Conflict first;
  visit(offset, size, [&](Piece &piece, uint32_t address) {
    refresh(piece);
    uint8_t initialized = piece.flags & Initialized;
    Conflict conflict = write(piece, /*atomic=*/false, actor, clock);
    piece.flags = uint8_t((piece.flags & ~Initialized) | initialized | Flying);
    if (conflict.kind != Conflict::None && first.kind == Conflict::None) {
      first = conflict;
      first.address = address;
    }
  });
  return first;
}

void Shadow::finishCopy(uint32_t offset, uint32_t size, const Actor &actor) {
  visit(offset, size, [&](Piece &piece, uint32_t) {
    refresh(piece);
    setWriter(piece, actor);
    piece.flags = uint8_t((piece.flags & ~Flying) | Initialized);
  });
}
