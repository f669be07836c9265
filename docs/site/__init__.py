"""The documentation as a site that needs no network: `make site` puts it into dist/site.

The pages are those of this repository, which a code host shows as well. `pages` says which there are and where each
stands, `links` turns their links into the site's, `building` has the generator make HTML of them, and `checking`
follows every link of the result.
"""
