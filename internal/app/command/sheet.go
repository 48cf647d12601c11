package command

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/bregman-ml/bregman/images"
)

// A sheet has a row for each of some classes: its name, and some of its training images.
const (
	sheetRows    = 12
	sheetColumns = 8
	sheetTile    = 112
	sheetGap     = 6
	sheetLetter  = 7   // width of a letter
	sheetNames   = 168 // width of the names at most
)

// drawSheet draws images of the first and last classes and some between them, as a PNG.
func drawSheet(s *images.Set) ([]byte, error) {
	rows := min(len(s.Classes), sheetRows)
	chosen := make(map[int]int, rows) // row by class
	for r := range rows {
		chosen[r*(len(s.Classes)-1)/max(rows-1, 1)] = r
	}
	names := 0
	for class := range chosen {
		names = max(names, sheetLetter*len([]rune(s.Classes[class]))+2*sheetGap)
	}
	names = min(names, sheetNames)
	sheet := image.NewRGBA(image.Rect(0, 0, names+sheetColumns*(sheetTile+sheetGap)+sheetGap,
		rows*(sheetTile+sheetGap)+sheetGap))
	draw.Draw(sheet, sheet.Rect, image.White, image.Point{}, draw.Src)
	for class, r := range chosen {
		write(sheet, s.Classes[class], sheetGap, sheetGap+r*(sheetTile+sheetGap)+sheetTile/2)
	}
	filled := make([]int, rows)
	for i := range s.Train.Len() {
		r, ok := chosen[s.Train.Label(i)]
		if !ok || filled[r] == sheetColumns {
			continue
		}
		picture, err := s.Picture(true, i)
		if err != nil {
			return nil, err
		}
		x, y := names+filled[r]*(sheetTile+sheetGap), sheetGap+r*(sheetTile+sheetGap)
		place(sheet, picture, image.Rect(x, y, x+sheetTile, y+sheetTile))
		filled[r]++
	}
	var b bytes.Buffer
	err := png.Encode(&b, sheet)
	return b.Bytes(), err
}

// place draws a whole picture into the middle of a tile.
func place(on *image.RGBA, p image.Image, tile image.Rectangle) {
	size := p.Bounds().Size()
	long := max(size.X, size.Y)
	w, h := max(1, size.X*tile.Dx()/long), max(1, size.Y*tile.Dy()/long)
	at := tile.Min.Add(image.Pt((tile.Dx()-w)/2, (tile.Dy()-h)/2))
	how := xdraw.Interpolator(xdraw.CatmullRom)
	if long < tile.Dx()/2 {
		how = xdraw.NearestNeighbor // small pictures as they are, with their pixels
	}
	how.Scale(on, image.Rectangle{at, at.Add(image.Pt(w, h))}, p, p.Bounds(), draw.Src, nil)
}

// write writes a name, shortened to the room there is. The font has ASCII only.
func write(on *image.RGBA, name string, x, y int) {
	const most = (sheetNames - 2*sheetGap) / sheetLetter
	letters := []rune(name)
	if len(letters) > most {
		letters = append(letters[:most-2], '.', '.')
	}
	for i, c := range letters {
		if c < ' ' || c > '~' {
			letters[i] = '?'
		}
	}
	d := font.Drawer{Dst: on, Src: image.NewUniform(color.Gray{60}), Face: basicfont.Face7x13, Dot: fixed.P(x, y+4)}
	d.DrawString(string(letters))
}
