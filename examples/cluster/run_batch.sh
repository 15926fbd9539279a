#!/bin/sh
#SBATCH --gpus=1
#SBATCH --time=04:00:00
# A wave as a job of Slurm: batch_command = "sh run_batch.sh {input} {output} {model}". It submits itself and waits, since a
# command must not end before its output is whole; ended by Tidepool (--on-stop cancel, orders --give-up) it takes its job along.
# The folder that TIDEPOOL_STATE names must be one that the nodes see.
if [ -n "$TIDEPOOL_JOB" ]; then
    exec vllm run-batch -i "$1" -o "$2" --model "$3"
fi
name="tidepool-$(basename "$(dirname "$1")")"
trap 'scancel --name "$name"' TERM
sbatch --wait --job-name "$name" --export ALL,TIDEPOOL_JOB=1 "$0" "$@" &
wait $!
