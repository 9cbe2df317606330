"""What a site offers: llms.txt, llms-full.txt, sitemaps and lists of pages, found and read.

No Scrapy.
"""
