package lexical

import (
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// maxStemBytes is the longest word that is stemmed; no natural one is longer.
const maxStemBytes = 64

// primary is the primary language subtag of a BCP 47 tag; English if the tag is empty.
func primary(tag string) string {
	if i := strings.IndexAny(tag, "-_"); i >= 0 {
		tag = tag[:i]
	}
	if tag == "" {
		return "en"
	}
	return strings.ToLower(tag)
}

// stemmerOf returns the Snowball stemmer of a language, for words in lower
// case. Words of other languages, and words with digits, stay as they are.
func stemmerOf(tag string) func(string) string {
	algorithm := algorithmOf(primary(tag))
	return func(w string) string {
		if algorithm == nil || len(w) > maxStemBytes || !utf8.ValidString(w) || strings.ContainsAny(w, "0123456789") {
			return w
		}
		env := snowballstem.NewEnv(w)
		algorithm(env)
		if stem := env.Current(); stem != "" {
			return stem
		}
		return w
	}
}

func algorithmOf(language string) func(*snowballstem.Env) bool {
	switch language {
	case "ar":
		return arabic.Stem
	case "da":
		return danish.Stem
	case "de":
		return german.Stem
	case "en":
		return english.Stem
	case "es":
		return spanish.Stem
	case "fi":
		return finnish.Stem
	case "fr":
		return french.Stem
	case "ga":
		return irish.Stem
	case "hu":
		return hungarian.Stem
	case "it":
		return italian.Stem
	case "nb", "nn", "no":
		return norwegian.Stem
	case "nl":
		return dutch.Stem
	case "pt":
		return portuguese.Stem
	case "ro":
		return romanian.Stem
	case "ru":
		return russian.Stem
	case "sv":
		return swedish.Stem
	case "ta":
		return tamil.Stem
	case "tr":
		return turkish.Stem
	}
	return nil
}

// stopWords are words that say next to nothing in a question, between spaces.
// A reference uses some of them rarely ("how", "what"), so that their inverse
// document frequency alone would make them weigh.
type stopWords string

func (s stopWords) has(w string) bool {
	return len(w) <= 12 && strings.Contains(string(s), " "+w+" ")
}

func stopWordsOf(tag string) stopWords {
	switch primary(tag) {
	case "en":
		return " a about am an and any are as at be been but by can could d did do does doing don for from get got had has" +
			" have how i if in into is it its ll m me my no not of on or our re s should so some such t that the their" +
			" them then there these they this those to use using ve want was we were what when where which while who" +
			" why will with would you your "
	case "de":
		return " aber als am an auch auf aus bei bin das dass dem den der des die du durch ein eine einem einen einer" +
			" eines er es fur gibt habe haben hat ich ihr im in ist kann konnen man mein mich mir mit muss nach nicht" +
			" noch nur oder sein sich sie sind so uber um und vom von vor wann warum was welche welcher welches wenn" +
			" wer werden wie wir wird wo zu zum zur "
	case "fr":
		return " a ai au aux avec c ce ces cette comment d dans de des du elle en est et etre faire faut il ils j je l" +
			" la le les leur ma mais me mes mon n ne nous on ou par pas peut pour pourquoi puis qu quand que quel quelle" +
			" quels qui quoi s sa se ses son sont sur un une vous y "
	case "es":
		return " a al como con cual cuando de del donde el ella en es esta este esto estan fue ha hay la las le lo los" +
			" mas me mi muy no nos o para pero por porque puede puedo que quien se ser si sin sobre son su sus te un" +
			" una uno y ya yo "
	case "it":
		return " a ai al alla che chi ci come con cosa da dal dei del della delle di dove e ed gli ha ho i il in io la" +
			" le lo ma mi nel nella non o per perche piu posso puo quale quando se si sono su sul un una uno "
	case "pt":
		return " a ao aos as com como da das de do dos e ela ele em essa esse esta este eu foi ha mais mas me meu na nao" +
			" nas no nos o onde os ou para pela pelo por porque posso pode qual quando que quem se sem ser seu sua" +
			" um uma "
	case "nl":
		return " aan als bij dat de den der die dit doe door een en er het hoe ik in is kan kun maar me men met mijn" +
			" moet naar niet of om ook op over te tot uit van voor waar waarom wanneer wat welke wie wordt zijn zo "
	}
	return ""
}
