#!/bin/sh
# What the container of PostgreSQL does once, when its volume is new. The user `kb` owns its database and nothing else.
# The administrator `postgres` has no password any more: only who is inside of the container can be it
# (docker compose exec postgres psql --username=postgres).
set -eu

psql --username=postgres --dbname=postgres --no-psqlrc --set=ON_ERROR_STOP=1 <<'END'
\getenv password POSTGRES_PASSWORD
CREATE ROLE kb LOGIN PASSWORD :'password';
CREATE DATABASE kb OWNER kb TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8';
\connect kb
CREATE EXTENSION vector;
ALTER ROLE postgres PASSWORD NULL;
END
