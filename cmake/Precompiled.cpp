//===- Precompiled.cpp - holds the precompiled header, has no code --------===//
