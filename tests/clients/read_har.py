"""Reads an HTTP archive with haralyzer, and prints the parts that the test compares."""

import json
import sys

from haralyzer import HarParser

parser = HarParser.from_file(sys.argv[1])
entries = [entry for page in parser.pages for entry in page.entries]
print(json.dumps({
    "version": parser.version,
    "creator": parser.creator["name"],
    "entries": [
        {
            "method": entry.request.method,
            "url": entry.url,
            "year": entry.startTime.year,
            "status": entry.response.status,
            "mime_type": entry.response.mimeType,
            "content_type": entry.response.get_header_value("content-type"),
            "sent": entry.request.get("postData", {}).get("text"),
            "query": entry.request.queryString,
            "waited": entry.timings["wait"] <= entry.time,
        }
        for entry in entries
    ],
}))
