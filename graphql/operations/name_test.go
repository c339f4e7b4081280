package operations

import "testing"

func TestSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"GetHTMLProducts2V3": "get_html_products2_v3",
		"getUser":            "get_user",
		"get_user":           "get_user",
		"GetUser":            "get_user",
		"GETUser":            "get_user",
		"getUserByID":        "get_user_by_id",
		"HTML":               "html",
		"OAuth2Token":        "o_auth2_token",
		"v2":                 "v2",
		"Page1Of2":           "page1_of2",
		"__Internal__Name_":  "internal_name",
		"orders_ByDay":       "orders_by_day",
		"A":                  "a",
		"X1Y2Z3":             "x1_y2_z3",
		"_":                  "",
		"iPhone":             "i_phone",
	} {
		got := snakeCase(name)
		if got != want {
			t.Errorf("%s becomes %q, want %q", name, got, want)
		}
		if again := snakeCase(got); again != got {
			t.Errorf("%s becomes %q, and that %q", name, got, again)
		}
	}
}

func TestNames(t *testing.T) {
	o := Options{MaxName: 8, Reserved: []string{"search"}}
	for name, ok := range map[string]bool{
		"get_user": true, "a": true, "v2": true, "search": false, "get_users": false, "Get": false, "2v": false, "_a": false, "a-b": false,
		"a.b": false, "a/b": false, "": false, "é": false,
	} {
		if err := checkName(name, o, "rename it"); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
