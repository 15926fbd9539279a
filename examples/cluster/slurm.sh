#!/bin/bash
#SBATCH --job-name=tidepool
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=1
#SBATCH --time=12:00:00
# Each node serves the model, and has one hand beside it. The study file lies in a folder that the first node can write to;
# a job that was cut off goes on with: --resume last --set cluster.ray=auto --set cluster.hands=4 --set cluster.resources.llm=1
set -e
export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0
ray get-auth-token --generate > /dev/null        # into the home folder, which all nodes share
chmod -R go= ~/.ray                              # Ray writes the token readable by all users

srun --overlap vllm serve Qwen/Qwen3-8B --host 127.0.0.1 --port 8000 &
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --overlap bash -c 'until curl -sf http://127.0.0.1:8000/health; do sleep 5; done'

srun --overlap ray symmetric-run --address "$head:6379" --min-nodes "$SLURM_JOB_NUM_NODES" --resources '{"llm": 1}' -- \
    tidepool --db "$SLURM_SUBMIT_DIR/study.db" --run "$SLURM_SUBMIT_DIR/study.toml" --set cluster.hands="$SLURM_JOB_NUM_NODES"
