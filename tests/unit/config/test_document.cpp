#include <gtest/gtest.h>

#include "config/document.hpp"

namespace gridstride::config {
namespace {

Node parse(std::string_view text) {
  Faults faults("f");
  auto root = parse_document(text, 0, "", faults);
  faults.throw_if_any();
  return *root;
}

std::string fault(std::string_view text) {
  try {
    parse(text);
  } catch (ConfigError const& error) {
    return error.what();
  }
  return "";
}

TEST(Document, KeepsPositionsAndQuotes) {
  Node const root = parse("a: 1\nb:\n  - 'x y'\n  - {c: null, \"d\": 010}\n");
  ASSERT_EQ(root.kind, Node::Kind::mapping);
  Node const& list = *root.child("b");
  EXPECT_EQ(list.kind, Node::Kind::sequence);
  EXPECT_EQ(list.child("0")->text, "x y");
  EXPECT_TRUE(list.child("0")->quoted);
  EXPECT_EQ(list.child("0")->place.line, 3);
  EXPECT_EQ(list.child("0")->place.column, 5);
  EXPECT_EQ(list.child("1")->child("c")->kind, Node::Kind::null);
  EXPECT_EQ(list.child("1")->child("d")->text, "010");
  EXPECT_EQ(list.child("2"), nullptr);
  EXPECT_EQ(list.child("first"), nullptr);
  EXPECT_EQ(root.child("x"), nullptr);
}

TEST(Document, CountsCharactersNotBytes) {
  Node const root = parse(
      "\xEF\xBB\xBF\"gr\xC3\xB6\xC3\x9F"
      "e\": 1 # \xE2\x82\xAC\n");
  EXPECT_EQ(root.children[0].place.line, 1);
  EXPECT_EQ(root.children[0].place.column, 10);
}

TEST(Document, KnowsVerbatimText) {
  Node const root = parse("a: 'it''s'\nb: \"x\\n\"\nc: plain text\nd: 'quoted'\ne: |\n  block\n");
  EXPECT_FALSE(root.child("a")->verbatim);
  EXPECT_FALSE(root.child("b")->verbatim);
  EXPECT_TRUE(root.child("c")->verbatim);
  EXPECT_TRUE(root.child("d")->verbatim);
  EXPECT_FALSE(root.child("e")->verbatim);
}

TEST(Document, NamesTheFirstOfDuplicates) {
  EXPECT_EQ(fault("a: {b: 1,\n  b: 2}\na: 3\n"),
            "f:2:3: a.b: duplicate key (first given on line 1)\n"
            "f:3:1: a: duplicate key (first given on line 1)");
}

TEST(Document, RefusesWhatIsNoPlainData) {
  EXPECT_EQ(fault("a: &x 1\nb: *x\n"),
            "f:1:4: a: anchors (&x) are not accepted (a config says each value where it is used)");
  EXPECT_EQ(fault("a: !!int 1\n"), "f:1:4: a: tags (!type) are not accepted (the types are known)");
  EXPECT_EQ(fault("a: ! b\n"), "f:1:4: a: tags (!type) are not accepted (the types are known)");
  EXPECT_EQ(fault("<<: {a: 1}\n"),
            "f:1:1: merge keys (<<) are not accepted (a config says each value where it is "
            "used)");
  EXPECT_EQ(fault("a: 1\n--- \nb: 1\n"), "f:2:1: a second document begins here (a file holds one)");
  EXPECT_EQ(fault("{a: 1} {b: 1}\n"), "f:1:8: a second document begins here (a file holds one)");
}

TEST(Document, IsBounded) {
  for (std::string const unit : {"[", "{", "- ", "? ", "{a: ", "[a, ", "[[a], ", "a: "}) {
    std::string text;
    while (text.size() < 200'000) text += unit;
    EXPECT_NE(fault(text), "") << unit;
  }
  EXPECT_EQ(fault(std::string(31, '[') + std::string(31, ']')), "");
  EXPECT_NE(fault(std::string(40, '[') + std::string(40, ']')), "");
  std::string many = "[";
  for (int i = 0; i < 30'000; ++i) many += "1,";
  EXPECT_NE(fault(many + "]").find("too large (at most 20000 values)"), std::string::npos);
}

TEST(Document, FindsWhatIsNotClosed) {
  EXPECT_EQ(fault("a: {b: \"x}\n"), "f:1:8: a.b: this quote is not closed");
  EXPECT_EQ(fault("a: 'x\nb: 1\n"), "f:1:4: a: this quote is not closed");
  EXPECT_EQ(fault("a: \"x\nb: 1\n"), "f:1:4: a: this quote is not closed");
  EXPECT_EQ(fault("a: [1, {b: 2]\n"),
            "f:1:13: ',' or '}' expected (for the '{' at line 1, column "
            "8)");
  EXPECT_EQ(fault("a: [1,\n  2\n"), "f:1:4: this '[' is not closed (a ']' is missing)");
  EXPECT_EQ(fault("a: ['it''s', \"]\", 1 # ]\n"),
            "f:1:4: this '[' is not closed (a ']' is missing)");
}

TEST(Document, TranslatesSyntaxErrors) {
  EXPECT_EQ(fault("a:\n\tb: 1\n"), "f:2:1: a tab in the indentation (YAML indents with spaces)");
  EXPECT_EQ(fault("a: b: c\n"),
            "f:1:5: a second ': ' in one line (one value per key; text with ': ' needs quotes)");
  EXPECT_EQ(fault("a: @x\n"), "f:1:4: no value begins with this character (it needs quotes)");
  EXPECT_EQ(fault("a: }\n"), "f:1:4: this bracket closes nothing");
}

TEST(Document, OfNothingIsAFault) {
  for (std::string_view const text : {"", "\n\n", "# only\n", "---\n", "null\n", "~"})
    EXPECT_EQ(fault(text), "f: is empty (a config is a mapping, as 'simulation: heat')") << text;
}

TEST(DocumentFile, MustBeText) {
  EXPECT_THROW(read_document("no_such_file.yaml"), ConfigError);
  EXPECT_THROW(read_document("."), ConfigError);
}

}  // namespace
}  // namespace gridstride::config
