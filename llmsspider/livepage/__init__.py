"""The live web page of a crawl: `state` is what it shows, `server` serves it, `assets` is what a browser gets."""
