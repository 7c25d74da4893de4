# SPDX-License-Identifier: Apache-2.0
"""A script of Hugging Face's Trainer as people write it: nothing in it knows Signalbox. A tiny model on made data, on CPUs.

    torchrun ... hf_train.py FOLDER STEPS
"""
import os
import sys
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

FOLDER, STEPS = sys.argv[1], int(sys.argv[2])


class Made(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        time.sleep(0.02)  # stands for work
        words = torch.randint(0, 64, (16,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": words, "labels": words}


torch.set_num_threads(1)
torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0))
arguments = TrainingArguments(
    output_dir=FOLDER, max_steps=STEPS, per_device_train_batch_size=2, logging_steps=5, save_steps=20, save_total_limit=2,
    report_to="none", use_cpu=True, disable_tqdm=True)
last = get_last_checkpoint(FOLDER) if os.path.isdir(FOLDER) else None
print(f"begins from {last}", flush=True)
Trainer(model=model, args=arguments, train_dataset=Made()).train(resume_from_checkpoint=last)
print("training is done", flush=True)
# torch asks for it: a rank that still uses its connections aborts when another one has exited.
torch.distributed.barrier()
torch.distributed.destroy_process_group()
