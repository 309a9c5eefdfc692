#!/bin/sh
# exit 0: the report is there; 1: it isn't
test -f "out/report-$1.csv"
