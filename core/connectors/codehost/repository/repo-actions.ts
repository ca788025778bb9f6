/** Catalogue rows for runners, caches, permissions and secrets of the workflows of one repository. */
export const REPO_ACTIONS = `
  GET    /repos/{owner}/{repo}/actions/cache/retention-limit                        actions_cache.get_retention_limit            read  low administration:read
  PUT    /repos/{owner}/{repo}/actions/cache/retention-limit                        actions_cache.set_retention_limit            write medium administration:write
  GET    /repos/{owner}/{repo}/actions/cache/storage-limit                          actions_cache.get_storage_limit              read  low actions:read
  PUT    /repos/{owner}/{repo}/actions/cache/storage-limit                          actions_cache.set_storage_limit              write medium administration:write
  GET    /repos/{owner}/{repo}/actions/cache/usage                                  actions_cache.get_usage                      read  low actions:read
  GET    /repos/{owner}/{repo}/actions/caches                                       actions_cache.list                           read  low actions:read
  DELETE /repos/{owner}/{repo}/actions/caches                                       actions_cache.delete                         write medium actions:write
  DELETE /repos/{owner}/{repo}/actions/caches/{cache_id}                            actions_cache.delete                         write medium @same actions:write
  GET    /repos/{owner}/{repo}/actions/concurrency_groups                           concurrency_group.list                       read  low actions:read
  GET    /repos/{owner}/{repo}/actions/concurrency_groups/{concurrency_group_name/} concurrency_group.get                        read  low actions:read
  GET    /repos/{owner}/{repo}/actions/oidc/customization/sub                       oidc.get_subject_claim                       read  low actions:read
  PUT    /repos/{owner}/{repo}/actions/oidc/customization/sub                       oidc.set_subject_claim                       write high   use_default,include_claim_keys actions:write
  GET    /repos/{owner}/{repo}/actions/organization-secrets                         org_actions_secret.list_for_repo             read  low secrets:read
  GET    /repos/{owner}/{repo}/actions/organization-variables                       org_actions_variable.list_for_repo           read  low
  GET    /repos/{owner}/{repo}/actions/permissions                                  actions_permission.get                       read  low administration:read
  PUT    /repos/{owner}/{repo}/actions/permissions                                  actions_permission.set                       write high   enabled,allowed_actions,enabled_repositories administration:write
  GET    /repos/{owner}/{repo}/actions/permissions/access                           actions_permission.get_access                read  low administration:read
  PUT    /repos/{owner}/{repo}/actions/permissions/access                           actions_permission.set_access                write high   access_level administration:write
  GET    /repos/{owner}/{repo}/actions/permissions/artifact-and-log-retention       actions_permission.get_retention             read  low administration:read
  PUT    /repos/{owner}/{repo}/actions/permissions/artifact-and-log-retention       actions_permission.set_retention             write high   days administration:write
  GET    /repos/{owner}/{repo}/actions/permissions/fork-pr-contributor-approval     actions_permission.get_fork_approval         read  low administration:read
  PUT    /repos/{owner}/{repo}/actions/permissions/fork-pr-contributor-approval     actions_permission.set_fork_approval         write high   approval_policy administration:write
  GET    /repos/{owner}/{repo}/actions/permissions/fork-pr-workflows-private-repos  actions_permission.get_private_fork_workflows read  low administration:read
  PUT    /repos/{owner}/{repo}/actions/permissions/fork-pr-workflows-private-repos  actions_permission.set_private_fork_workflows write high   run_workflows_from_fork_pull_requests administration:write
  GET    /repos/{owner}/{repo}/actions/permissions/selected-actions                 actions_permission.get_selected_actions      read  low administration:read
  PUT    /repos/{owner}/{repo}/actions/permissions/selected-actions                 actions_permission.set_selected_actions      write high   patterns_allowed administration:write
  GET    /repos/{owner}/{repo}/actions/permissions/workflow                         actions_permission.get_workflow              read  low administration:read
  PUT    /repos/{owner}/{repo}/actions/permissions/workflow                         actions_permission.set_workflow              write high   default_workflow_permissions,can_approve_pull_request_reviews administration:write
  GET    /repos/{owner}/{repo}/actions/runners                                      runner.list                                  read  low administration:read
  GET    /repos/{owner}/{repo}/actions/runners/downloads                            runner.list_downloads                        read  low administration:read
  POST   /repos/{owner}/{repo}/actions/runners/generate-jitconfig                   runner.create_jit_config                     write high   name,labels administration:write
  POST   /repos/{owner}/{repo}/actions/runners/registration-token                   runner.create_registration_token             write high administration:write
  POST   /repos/{owner}/{repo}/actions/runners/remove-token                         runner.create_removal_token                  write high administration:write
  GET    /repos/{owner}/{repo}/actions/runners/{runner_id}                          runner.get                                   read  low administration:read
  DELETE /repos/{owner}/{repo}/actions/runners/{runner_id}                          runner.delete                                write high administration:write
  GET    /repos/{owner}/{repo}/actions/runners/{runner_id}/labels                   runner.list_labels                           read  low administration:read
  POST   /repos/{owner}/{repo}/actions/runners/{runner_id}/labels                   runner.add_labels                            write high   labels administration:write
  PUT    /repos/{owner}/{repo}/actions/runners/{runner_id}/labels                   runner.set_labels                            write high administration:write
  DELETE /repos/{owner}/{repo}/actions/runners/{runner_id}/labels                   runner.remove_labels                         write high administration:write
  DELETE /repos/{owner}/{repo}/actions/runners/{runner_id}/labels/{name}            runner.remove_label                          write high administration:write
  GET    /repos/{owner}/{repo}/actions/runs/{run_id}/approvals                      workflow_run.list_approvals                  read  low actions:read
  GET    /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}      workflow_run.get_attempt                     read  low actions:read
  GET    /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs workflow_job.list                            read  low actions:read
  GET    /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/logs workflow_run.get_logs                        read  low actions:read
  GET    /repos/{owner}/{repo}/actions/runs/{run_id}/concurrency_groups             concurrency_group.list                       read  low actions:read
  POST   /repos/{owner}/{repo}/actions/runs/{run_id}/deployment_protection_rule     deployment.review_gate                       write high   environment_name,state deployments:write
  GET    /repos/{owner}/{repo}/actions/workflows/{workflow_id}/timing               workflow.get_usage                           read  low actions:read
  GET    /repos/{owner}/{repo}/agents/organization-secrets                          org_agents_secret.list_for_repo              read  low
  GET    /repos/{owner}/{repo}/agents/organization-variables                        org_agents_variable.list_for_repo            read  low
  GET    /repos/{owner}/{repo}/agents/secrets                                       agents_secret.list                           read  low
  GET    /repos/{owner}/{repo}/agents/secrets/public-key                            agents_secret.get_public_key                 read  low
  GET    /repos/{owner}/{repo}/agents/secrets/{secret_name}                         agents_secret.get                            read  low
  PUT    /repos/{owner}/{repo}/agents/secrets/{secret_name}                         agents_secret.set                            write high
  DELETE /repos/{owner}/{repo}/agents/secrets/{secret_name}                         agents_secret.delete                         write high
  GET    /repos/{owner}/{repo}/agents/variables                                     agents_variable.list                         read  low
  POST   /repos/{owner}/{repo}/agents/variables                                     agents_variable.create                       write medium name
  GET    /repos/{owner}/{repo}/agents/variables/{name}                              agents_variable.get                          read  low
  PATCH  /repos/{owner}/{repo}/agents/variables/{name}                              agents_variable.update                       write medium
  DELETE /repos/{owner}/{repo}/agents/variables/{name}                              agents_variable.delete                       write high
  GET    /repos/{owner}/{repo}/dependabot/secrets                                   dependabot_secret.list                       read  low dependabot_secrets:read
  GET    /repos/{owner}/{repo}/dependabot/secrets/public-key                        dependabot_secret.get_public_key             read  low dependabot_secrets:read
  GET    /repos/{owner}/{repo}/dependabot/secrets/{secret_name}                     dependabot_secret.get                        read  low dependabot_secrets:read
  PUT    /repos/{owner}/{repo}/dependabot/secrets/{secret_name}                     dependabot_secret.set                        write high dependabot_secrets:write
  DELETE /repos/{owner}/{repo}/dependabot/secrets/{secret_name}                     dependabot_secret.delete                     write high dependabot_secrets:write
`
