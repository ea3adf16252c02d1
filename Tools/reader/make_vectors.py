#!/usr/bin/env python3
"""Writes the vectors that are made here: make_vectors.py [FOLDER]. The others the Swift tests write (MAGIC_WRITE_VECTORS)."""
from __future__ import annotations

import json
import os
import sys
from typing import Any

from check_vectors import VECTORS
from vectors.checkpoints import checkpoint_rules
from vectors.folders import folders
from vectors.segments import segment_rules

MADE = {"segment-rules.json": segment_rules, "checkpoint-rules.json": checkpoint_rules, "folders.json": folders}


def text(content: Any) -> str:
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else VECTORS
    for file_name, make in MADE.items():
        with open(os.path.join(folder, file_name), "w", encoding="utf-8") as file:
            file.write(text(make()))
