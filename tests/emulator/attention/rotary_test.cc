// Rotary embeddings as one launch: types, views, angles that broadcast, two at once.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/emulator/candidate_code.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class RotaryCodeTest : public CandidateCodeTest {
 protected:
  RotaryCodeTest() : CandidateCodeTest("rotary", /*least_nodes=*/2) {}

  // Runs the largest Candidate at the Concat, of `nodes` Nodes, and those within it.
  void ExpectRuns(const std::string& text, size_t nodes, double tolerance) {
    SCOPED_TRACE(text);
    ExpectRunsAt("Concat", GraphFromText(text), nodes, tolerance);
  }

  // An embedding of `x`, with names that end in `end`.
  static std::string Rotary(std::string_view x, std::string_view end) {
    return absl::StrReplaceAll(
        "l# = Slice($, zero, half, last) h# = Slice($, half, all, last) n# = Neg(h#) "
        "r# = Concat<axis = -1>(n#, l#) a# = Mul($, c) d# = Mul(r#, s) y# = Add(a#, d#) ",
        {{"$", x}, {"#", end}});
  }
  static std::string Constants(int half) {
    return absl::StrCat("<int64[1] zero = {0}, int64[1] half = {", half, "}, int64[1] all = {",
                        2 * half, "}, int64[1] last = {-1}");
  }
};

TEST_F(RotaryCodeTest, TypesAndWidths) {
  const std::pair<const char*, double> types[] = {
      {"float", 1e-6}, {"float16", 2e-3}, {"bfloat16", 1.6e-2}};
  for (const auto& [type, tolerance] : types) {
    for (const int half : {1, 3, 4, 8, 32, 36}) {
      const std::string row = absl::StrCat(2 * half, "] ");
      ExpectRuns(
          absl::StrCat("g (", type, "[2,3,5,", row, "x, ", type, "[1,1,5,", row, "c, ", type, "[5,",
                       row, "s) => (y) ", Constants(half), "> { ", Rotary("x", ""), "}"),
          7, tolerance);
    }
  }
}

TEST_F(RotaryCodeTest, AnglesThatBroadcast) {
  for (const char* dims : {"[16]", "[2,1,5,16]", "[2,3,5,16]", "[2,1,1,16]"}) {
    ExpectRuns(absl::StrCat("g (float[2,3,5,16] x, float", dims, " c, float", dims, " s) => (y) ",
                            Constants(8), "> { ", Rotary("x", ""), "}"),
               7, 1e-6);
  }
}

// As the standard defines RotaryEmbedding: one angle for both halves.
TEST_F(RotaryCodeTest, HalvesShareTheirAngles) {
  for (const char* dims : {"[8]", "[2,1,5,8]", "[2,3,5,8]", "[2,1,1,8]"}) {
    ExpectRuns(absl::StrCat("g (float16[2,3,5,16] x, float16", dims, " c, float16", dims,
                            " s) => (y) ", Constants(8),
                            "> { l = Slice(x, zero, half, last) h = Slice(x, half, all, last) "
                            "a = Mul(l, c) d = Mul(h, s) e = Sub(a, d) f = Mul(l, s) "
                            "i = Mul(h, c) j = Add(i, f) y = Concat<axis = -1>(e, j) }"),
               9, 2e-3);
  }
}

// The four forms, of the first `turned` of all channels: halves or neighbours, with angles for each
// pair or for each channel.
TEST_F(RotaryCodeTest, PartsAndNeighbours) {
  const std::string
      halves = "l = Slice($, zero, half, last) h = Slice($, half, turned, last) ",
      neighbours = "l = Slice($, zero, turned, last, two) h = Slice($, one, turned, last, two) ",
      by_pair =
          "a = Mul(l, c) d = Mul(h, s) m = Sub(a, d) o = Mul(l, s) "
          "i = Mul(h, c) n = Add(i, o) ",
      units =
          "v = Unsqueeze(n, fourth) w = Unsqueeze(m, fourth) "
          "j = Concat<axis = -1>(w, v) ";
  struct Form {
    std::string nodes, end;
    int angles;  // of a pair
    size_t count;
  };
  const Form forms[] = {
      {halves + by_pair, "Concat<axis = -1>(m, n)", 1, 9},
      {neighbours + by_pair + units, "Reshape(j, given)", 1, 12},
      {halves + "m = Neg(h) r = Concat<axis = -1>(m, l) a = Mul($, c) d = Mul(r, s) ", "Add(a, d)",
       2, 7},
      {neighbours + "m = Neg(h) " + absl::StrReplaceAll(units, {{"(n,", "(l,"}}) +
           "r = Reshape(j, given) a = Mul($, c) d = Mul(r, s) ",
       "Add(a, d)", 2, 10}};
  for (const auto& [channels, turned] :
       {std::pair(16, 16), {36, 6}, {6, 4}, {80, 64}, {24, 8}, {5, 4}}) {
    for (const Form& form : forms) {
      const bool is_part = turned < channels;
      const std::string behind =
          is_part
              ? "k = " + form.end + " p = Slice(x, turned, all, last) y = Concat<axis = -1>(k, p)"
              : "y = " + form.end;
      const std::string nodes = absl::StrReplaceAll(
          (is_part ? "f = Slice(x, zero, turned, last) " : "") + form.nodes + behind,
          {{"$", is_part ? "f" : "x"}});
      const std::string text = absl::StrReplaceAll(
          "g (float16[2,3,5,C] x, float16[2,1,5,A] c, float16[5,A] s) => (y) "
          "<int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] half = {H}, "
          "int64[1] turned = {T}, int64[1] all = {C}, int64[1] last = {3}, "
          "int64[1] fourth = {4}, int64[4] given = {2, 3, 5, T}> { ",
          {{"C", absl::StrCat(channels)},
           {"A", absl::StrCat(form.angles * turned / 2)},
           {"H", absl::StrCat(turned / 2)},
           {"T", absl::StrCat(turned)}});
      ExpectRuns(text + nodes + " }", form.count + (is_part ? 3 : 0), 2e-3);
    }
  }
}

TEST_F(RotaryCodeTest, QueriesAndKeysOfOneProduct) {
  ExpectRuns(
      absl::StrCat("g (float16[2,5,112] w, float16[5,16] c, float16[1,1,5,16] s) => (yq, yk) ",
                   Constants(8),
                   ", int64[1] one = {64}, int64[1] two = {96}, int64[1] axis = {2}, "
                   "int64[4] heads = {2, 5, 4, 16}, int64[4] shared = {2, 5, 2, 16}> { "
                   "e = Slice(w, zero, one, axis) f = Reshape(e, heads) "
                   "q = Transpose<perm = [0,2,1,3]>(f) g = Slice(w, one, two, axis) "
                   "i = Reshape(g, shared) k = Transpose<perm = [0,2,1,3]>(i) ",
                   Rotary("q", "q"), Rotary("k", "k"), "}"),
      20, 2e-3);
}

// With queries, or alone; linear and circular; rows at other places in each batch.
TEST_F(RotaryCodeTest, KeysAndValuesGoToCaches) {
  for (const char* mode : {"linear", "circular"}) {
    for (const int tokens : {1, 5}) {
      for (const bool has_values : {true, false}) {
        const std::string nodes = absl::StrReplaceAll(
            absl::StrCat("e = Slice(w, zero, one, axis) f = Reshape(e, heads) "
                         "q = Transpose<perm = [0,2,1,3]>(f) g = Slice(w, one, two, axis) "
                         "i = Reshape(g, shared) k = Transpose<perm = [0,2,1,3]>(i) ",
                         Rotary("q", "q"), Rotary("k", "k"),
                         "j = Slice(w, two, three, axis) m = Reshape(j, shared) "
                         "v = Transpose<perm = [0,2,1,3]>(m) "
                         "pk = TensorScatter<axis = 2, mode = \"@\">(keys, yk, places) ",
                         has_values
                             ? "pv = TensorScatter<axis = -2, mode = \"@\">(values, v, places)"
                             : "pv = Neg(v)"),
            {{"@", mode}});
        ExpectRuns(
            absl::StrReplaceAll(
                absl::StrCat("g (float16[2,T,128] w, float16[T,16] c, float16[1,1,T,16] s, "
                             "float16[2,2,12,16] keys, float16[2,2,12,16] values) => (yq, pk, pv) ",
                             Constants(8),
                             ", int64[1] one = {64}, int64[1] two = {96}, int64[1] three = {128}, "
                             "int64[1] axis = {2}, int64[2] places = {1, 7}, "
                             "int64[4] heads = {2, T, 4, 16}, int64[4] shared = {2, T, 2, 16}> { ",
                             nodes, " }"),
                {{"[2,T", absl::StrCat("[2,", tokens)},
                 {"[T", absl::StrCat("[", tokens)},
                 {"1,T", absl::StrCat("1,", tokens)},
                 {"2, T", absl::StrCat("2, ", tokens)}}),
            has_values ? 25 : 21, 2e-3);
      }
    }
  }
}

}  // namespace
}  // namespace onnx_cudnn
