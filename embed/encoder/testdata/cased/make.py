"""Makes the tokenizer and goldens of this folder, in it: pip install tokenizers==0.23.3,
then python make.py. The pieces are trained on the texts of ../tokens.jsonl."""
import json

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

texts = [json.loads(line)["text"] for line in open("../tokens.jsonl")]
special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
t.normalizer = normalizers.BertNormalizer(lowercase=False)
t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
t.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=1500, special_tokens=special, limit_alphabet=400))
t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
t.decoder = decoders.WordPiece()
t.save("tokenizer.json", pretty=False)
with open("tokens.jsonl", "w") as f:
    for text in texts[::3]:
        if not any(mark in text for mark in special):
            f.write(json.dumps({"text": text, "ids": t.encode(text).ids}, ensure_ascii=False) + "\n")
