"""What a user said: arguments, settings, profiles and stored sources, checked. No Scrapy."""
