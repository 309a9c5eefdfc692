package main

import "testing"

func TestASeriesIsItsMedianAndItsSpread(t *testing.T) {
	for _, c := range []struct {
		s    series
		want string
	}{
		{series{2}, "2.00"},
		{series{3, 1, 2}, "2.00 (1.00–3.00)"},
		{series{1, 2, 3, 4}, "2.50 (1.00–4.00)"},
		{series{123456, 1234567, 999}, "123,500 (999–1,234,600)"},
		{series{-0.5, 12.34, 99}, "12.3 (-0.50–99.0)"},
	} {
		if got := c.s.String(); got != c.want {
			t.Errorf("%v: %s instead of %s", []float64(c.s), got, c.want)
		}
	}
}

func TestARatioSaysHowManyTimesAsFast(t *testing.T) {
	if got := (series{1, 2}).ratio(series{4, 4}).String(); got != "3.00 (2.00–4.00)" {
		t.Error(got)
	}
}
