package linear

import (
	"strings"
	"testing"
)

func TestLossesAndMethodsHaveNames(t *testing.T) {
	if got := strings.Join(LossNames(), " "); got != "exp logistic poly square" {
		t.Errorf("losses %s", got)
	}
	for _, info := range Losses {
		l, err := LossByName(info.Name)
		if err != nil || l != info.Loss || l.String() != info.Name || info.About == "" {
			t.Errorf("%+v: %v, %v", info, l, err)
		}
	}
	if got := strings.Join(MethodNames(), " "); got != "accelerated pgd normalized squared steepest newton" {
		t.Errorf("methods %s", got)
	}
	for _, info := range Methods {
		if m, err := MethodByName(string(info.Name)); err != nil || m != info.Name || info.About == "" {
			t.Errorf("%+v: %v, %v", info, m, err)
		}
		set := Settings{Method: info.Name}
		if info.Name == MethodNewton {
			set.Lambda = 1
		}
		if m, err := set.method(); err != nil || m.Name() != string(info.Name) {
			t.Errorf("settings for %s: %+v, %v", info.Name, m, err)
		}
	}
}

func TestUnknownNamesListWhatThereIs(t *testing.T) {
	_, err := LossByName("hinge")
	if err == nil || err.Error() != `loss "hinge": choose one of exp, logistic, poly, square` {
		t.Errorf("hinge: %v", err)
	}
	_, err = MethodByName("sgd")
	if err == nil || !strings.HasPrefix(err.Error(), `method "sgd": choose one of accelerated, pgd,`) {
		t.Errorf("sgd: %v", err)
	}
}
