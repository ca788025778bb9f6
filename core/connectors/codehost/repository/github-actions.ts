/** Catalogue rows for workflows, their runs, and the secrets and variables that they use. */
export const GITHUB_ACTIONS = `
  GET    /repos/{owner}/{repo}/actions/workflows                       workflow.list              read  low actions:read
  GET    /repos/{owner}/{repo}/actions/workflows/{workflow_id}         workflow.get               read  low actions:read
  GET    /repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs    workflow_run.list          read  low actions:read
  POST   /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches  workflow.dispatch      write medium ref,inputs actions:write
  PUT    /repos/{owner}/{repo}/actions/workflows/{workflow_id}/enable  workflow.enable            write medium actions:write
  PUT    /repos/{owner}/{repo}/actions/workflows/{workflow_id}/disable  workflow.disable          write medium actions:write
  GET    /repos/{owner}/{repo}/actions/runs                            workflow_run.list          read  low actions:read
  GET    /repos/{owner}/{repo}/actions/runs/{run_id}                   workflow_run.get           read  low actions:read
  DELETE /repos/{owner}/{repo}/actions/runs/{run_id}                   workflow_run.delete        write medium actions:write
  POST   /repos/{owner}/{repo}/actions/runs/{run_id}/approve           workflow_run.approve       write high actions:write
  POST   /repos/{owner}/{repo}/actions/runs/{run_id}/cancel            workflow_run.cancel        write low actions:write
  POST   /repos/{owner}/{repo}/actions/runs/{run_id}/force-cancel      workflow_run.cancel        write low @same actions:write
  POST   /repos/{owner}/{repo}/actions/runs/{run_id}/rerun             workflow_run.rerun         write medium actions:write
  POST   /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs  workflow_run.rerun        write medium @same actions:write
  GET    /repos/{owner}/{repo}/actions/runs/{run_id}/jobs              workflow_job.list          read  low actions:read
  GET    /repos/{owner}/{repo}/actions/runs/{run_id}/logs              workflow_run.get_logs      read  low actions:read
  DELETE /repos/{owner}/{repo}/actions/runs/{run_id}/logs              workflow_run.delete_logs   write medium +irreversible actions:write
  GET    /repos/{owner}/{repo}/actions/runs/{run_id}/artifacts         artifact.list              read  low actions:read
  GET    /repos/{owner}/{repo}/actions/runs/{run_id}/timing            workflow_run.get_usage     read  low actions:read
  GET    /repos/{owner}/{repo}/actions/runs/{run_id}/pending_deployments  deployment.list_pending read  low actions:read
  POST   /repos/{owner}/{repo}/actions/runs/{run_id}/pending_deployments  deployment.review       write high   state,environment_ids deployments:write
  GET    /repos/{owner}/{repo}/actions/jobs/{job_id}                   workflow_job.get           read  low actions:read
  GET    /repos/{owner}/{repo}/actions/jobs/{job_id}/logs              workflow_job.get_logs      read  low actions:read
  POST   /repos/{owner}/{repo}/actions/jobs/{job_id}/rerun             workflow_job.rerun         write medium actions:write
  GET    /repos/{owner}/{repo}/actions/artifacts                       artifact.list              read  low actions:read
  GET    /repos/{owner}/{repo}/actions/artifacts/{artifact_id}         artifact.get               read  low actions:read
  DELETE /repos/{owner}/{repo}/actions/artifacts/{artifact_id}         artifact.delete            write medium actions:write
  GET    /repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}  artifact.download read low actions:read
  GET    /repos/{owner}/{repo}/actions/secrets                         actions_secret.list        read  low secrets:read
  GET    /repos/{owner}/{repo}/actions/secrets/public-key              actions_secret.get_public_key  read low secrets:read
  GET    /repos/{owner}/{repo}/actions/secrets/{secret_name}           actions_secret.get         read  low secrets:read
  PUT    /repos/{owner}/{repo}/actions/secrets/{secret_name}           actions_secret.set         write high secrets:write
  DELETE /repos/{owner}/{repo}/actions/secrets/{secret_name}           actions_secret.delete      write high secrets:write
  GET    /repos/{owner}/{repo}/actions/variables                       actions_variable.list      read  low
  POST   /repos/{owner}/{repo}/actions/variables                       actions_variable.create    write medium name
  GET    /repos/{owner}/{repo}/actions/variables/{name}                actions_variable.get       read  low
  PATCH  /repos/{owner}/{repo}/actions/variables/{name}                actions_variable.update    write medium
  DELETE /repos/{owner}/{repo}/actions/variables/{name}                actions_variable.delete    write high
`
