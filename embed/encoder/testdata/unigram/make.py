"""Makes the tokenizers and goldens of this folder, in it: pip install tokenizers==0.23.3
sentencepiece==0.2.3 protobuf, then python make.py. The pieces and the table of
characters are trained on the texts of ../tokens.jsonl."""
import json

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

texts = [json.loads(line)["text"] for line in open("../tokens.jsonl")]
with open("/tmp/train.txt", "w") as f:
    f.write("\n".join(line for t in texts for line in t.replace("\0", "").splitlines() if line.strip()))

# Full width, ligatures, spaces, some compositions.
table = [(chr(c), chr(c - 0xFEE0)) for c in range(0xFF01, 0xFF5F)]
table += [("\u3000", " "), ("\u00a0", " "), ("\t", " "), ("\n", " "), ("\r", " "), ("\u200b", " "), ("\u00ad", ""),
          ("\ufb01", "fi"), ("\ufb02", "fl"), ("\u2026", "..."), ("\u2122", "TM"), ("\u00bd", "1\u20442"), ("\u00b2", "2"),
          ("e\u0301", "\u00e9"), ("a\u0308", "\u00e4"), ("o\u0308", "\u00f6"), ("u\u0308", "\u00fc"), ("\u2126", "\u03a9"),
          ("\u212b", "\u00c5"), ("\uff76\uff9e", "\u30ac"), ("\uff76", "\u30ab"), ("\u1100\u1161", "\uac00")]
points = lambda text: " ".join("%X" % ord(c) for c in text)
with open("/tmp/table.tsv", "w") as f:
    f.writelines(points(a) + "\t" + points(b) + "\n" for a, b in table)

sentencepiece.SentencePieceTrainer.train(
    input="/tmp/train.txt", model_prefix="/tmp/small", model_type="unigram", vocab_size=1600, character_coverage=0.98,
    normalization_rule_tsv="/tmp/table.tsv", bos_id=0, pad_id=1, eos_id=2, unk_id=3, hard_vocab_limit=False, num_threads=1)
trained = sentencepiece_model_pb2.ModelProto()
trained.ParseFromString(open("/tmp/small.model", "rb").read())
precompiled = normalizers.Precompiled(trained.normalizer_spec.precompiled_charsmap)


def tokenizer(words, normalizer):
    t = Tokenizer(models.Unigram([(p.piece, p.score) for p in trained.pieces], unk_id=3, byte_fallback=False))
    t.normalizer, t.pre_tokenizer = normalizer, words
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    t.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    return t


tokenizers = {
    "split": tokenizer(pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]), precompiled),
    "metaspace": tokenizer(pre_tokenizers.Metaspace(), normalizers.Sequence([precompiled, normalizers.Replace(Regex(" {2,}"), " ")])),
    "first": tokenizer(pre_tokenizers.Metaspace(prepend_scheme="first", split=False), precompiled),
}
for name, t in tokenizers.items():
    t.save(name + ".json", pretty=False)
with open("tokens.jsonl", "w") as f:
    for i, text in enumerate(texts):
        if any(mark in text for mark in ("<s>", "</s>", "<pad>", "<unk>")):
            continue
        names = tokenizers if i % 4 == 0 else ["split"]
        f.write(json.dumps({"text": text, **{n: tokenizers[n].encode(text).ids for n in names}}, ensure_ascii=False) + "\n")
