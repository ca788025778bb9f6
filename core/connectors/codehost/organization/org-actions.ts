/** Catalogue rows for the workflows of an organization: runners, permissions, caches. */
export const ORG_ACTIONS = `
  GET    /organizations/{org}/actions/cache/retention-limit                           org_actions_cache.get_retention_limit        read  low organization_administration:read
  PUT    /organizations/{org}/actions/cache/retention-limit                           org_actions_cache.set_retention_limit        write medium organization_administration:write
  GET    /organizations/{org}/actions/cache/storage-limit                             org_actions_cache.get_storage_limit          read  low organization_administration:read
  PUT    /organizations/{org}/actions/cache/storage-limit                             org_actions_cache.set_storage_limit          write medium organization_administration:write
  GET    /orgs/{org}/actions/cache/usage                                              org_actions_cache.get_usage                  read  low organization_administration:read
  GET    /orgs/{org}/actions/cache/usage-by-repository                                org_actions_cache.get_usage_by_repository    read  low organization_administration:read
  GET    /orgs/{org}/actions/hosted-runners                                           org_hosted_runner.list                       read  low organization_administration:read
  POST   /orgs/{org}/actions/hosted-runners                                           org_hosted_runner.create                     write high organization_administration:write
  GET    /orgs/{org}/actions/hosted-runners/images/custom                             org_runner_image.list                        read  low
  GET    /orgs/{org}/actions/hosted-runners/images/custom/{image_definition_id}       org_runner_image.get                         read  low
  DELETE /orgs/{org}/actions/hosted-runners/images/custom/{image_definition_id}       org_runner_image.delete                      write high
  GET    /orgs/{org}/actions/hosted-runners/images/custom/{image_definition_id}/versions org_runner_image_version.list                read  low
  GET    /orgs/{org}/actions/hosted-runners/images/custom/{image_definition_id}/versions/{version} org_runner_image_version.get                 read  low
  DELETE /orgs/{org}/actions/hosted-runners/images/custom/{image_definition_id}/versions/{version} org_runner_image_version.delete              write high
  GET    /orgs/{org}/actions/hosted-runners/images/github-owned                       org_runner_image.list_provided               read  low organization_administration:read
  GET    /orgs/{org}/actions/hosted-runners/images/partner                            org_runner_image.list_partner                read  low organization_administration:read
  GET    /orgs/{org}/actions/hosted-runners/limits                                    org_hosted_runner.get_limits                 read  low organization_administration:read
  GET    /orgs/{org}/actions/hosted-runners/machine-sizes                             org_hosted_runner.get_machine_sizes          read  low organization_administration:read
  GET    /orgs/{org}/actions/hosted-runners/platforms                                 org_hosted_runner.list_platforms             read  low organization_administration:read
  GET    /orgs/{org}/actions/hosted-runners/{hosted_runner_id}                        org_hosted_runner.get                        read  low organization_administration:read
  PATCH  /orgs/{org}/actions/hosted-runners/{hosted_runner_id}                        org_hosted_runner.update                     write high organization_administration:write
  DELETE /orgs/{org}/actions/hosted-runners/{hosted_runner_id}                        org_hosted_runner.delete                     write high organization_administration:write
  GET    /orgs/{org}/actions/oidc/customization/properties/repo                       org_oidc_property.list                       read  low organization_administration:read
  POST   /orgs/{org}/actions/oidc/customization/properties/repo                       org_oidc_property.create                     write high organization_administration:write
  DELETE /orgs/{org}/actions/oidc/customization/properties/repo/{custom_property_name} org_oidc_property.delete                     write high organization_administration:write
  GET    /orgs/{org}/actions/oidc/customization/sub                                   org_oidc.get_subject_claim                   read  low organization_administration:read
  PUT    /orgs/{org}/actions/oidc/customization/sub                                   org_oidc.set_subject_claim                   write high   include_claim_keys organization_administration:write
  GET    /orgs/{org}/actions/permissions                                              org_actions_permission.get                   read  low organization_administration:read
  PUT    /orgs/{org}/actions/permissions                                              org_actions_permission.set                   write high   enabled,allowed_actions,enabled_repositories organization_administration:write
  GET    /orgs/{org}/actions/permissions/artifact-and-log-retention                   org_actions_permission.get_retention         read  low organization_administration:read
  PUT    /orgs/{org}/actions/permissions/artifact-and-log-retention                   org_actions_permission.set_retention         write high   days organization_administration:write
  GET    /orgs/{org}/actions/permissions/fork-pr-contributor-approval                 org_actions_permission.get_fork_approval     read  low organization_administration:read
  PUT    /orgs/{org}/actions/permissions/fork-pr-contributor-approval                 org_actions_permission.set_fork_approval     write high   approval_policy organization_administration:write
  GET    /orgs/{org}/actions/permissions/fork-pr-workflows-private-repos              org_actions_permission.get_private_fork_workflows read  low organization_administration:read
  PUT    /orgs/{org}/actions/permissions/fork-pr-workflows-private-repos              org_actions_permission.set_private_fork_workflows write high   run_workflows_from_fork_pull_requests organization_administration:write
  GET    /orgs/{org}/actions/permissions/repositories                                 org_actions_permission.list_repos            read  low organization_administration:read
  PUT    /orgs/{org}/actions/permissions/repositories                                 org_actions_permission.set_repos             write high organization_administration:write
  PUT    /orgs/{org}/actions/permissions/repositories/{repository_id}                 org_actions_permission.enable_repo           write high organization_administration:write
  DELETE /orgs/{org}/actions/permissions/repositories/{repository_id}                 org_actions_permission.disable_repo          write high organization_administration:write
  GET    /orgs/{org}/actions/permissions/selected-actions                             org_actions_permission.get_selected_actions  read  low organization_administration:read
  PUT    /orgs/{org}/actions/permissions/selected-actions                             org_actions_permission.set_selected_actions  write high   patterns_allowed organization_administration:write
  GET    /orgs/{org}/actions/permissions/self-hosted-runners                          org_self_hosted_runner_permission.get        read  low organization_administration:read
  PUT    /orgs/{org}/actions/permissions/self-hosted-runners                          org_self_hosted_runner_permission.set        write high organization_administration:write
  GET    /orgs/{org}/actions/permissions/self-hosted-runners/repositories             org_self_hosted_runner_permission.list_repos read  low organization_administration:read
  PUT    /orgs/{org}/actions/permissions/self-hosted-runners/repositories             org_self_hosted_runner_permission.set_repos  write high organization_administration:write
  PUT    /orgs/{org}/actions/permissions/self-hosted-runners/repositories/{repository_id} org_self_hosted_runner_permission.enable_repo write high organization_administration:write
  DELETE /orgs/{org}/actions/permissions/self-hosted-runners/repositories/{repository_id} org_self_hosted_runner_permission.disable_repo write high organization_administration:write
  GET    /orgs/{org}/actions/permissions/workflow                                     org_actions_permission.get_workflow          read  low organization_administration:read
  PUT    /orgs/{org}/actions/permissions/workflow                                     org_actions_permission.set_workflow          write high   default_workflow_permissions,can_approve_pull_request_reviews organization_administration:write
  GET    /orgs/{org}/actions/runner-groups                                            org_runner_group.list                        read  low organization_self_hosted_runners:read
  POST   /orgs/{org}/actions/runner-groups                                            org_runner_group.create                      write high organization_self_hosted_runners:write
  GET    /orgs/{org}/actions/runner-groups/{runner_group_id}                          org_runner_group.get                         read  low organization_self_hosted_runners:read
  PATCH  /orgs/{org}/actions/runner-groups/{runner_group_id}                          org_runner_group.update                      write high organization_self_hosted_runners:write
  DELETE /orgs/{org}/actions/runner-groups/{runner_group_id}                          org_runner_group.delete                      write high organization_self_hosted_runners:write
  GET    /orgs/{org}/actions/runner-groups/{runner_group_id}/hosted-runners           org_runner_group.list_hosted_runners         read  low organization_self_hosted_runners:read
  GET    /orgs/{org}/actions/runner-groups/{runner_group_id}/repositories             org_runner_group.list_repos                  read  low organization_self_hosted_runners:read
  PUT    /orgs/{org}/actions/runner-groups/{runner_group_id}/repositories             org_runner_group.set_repos                   write high organization_self_hosted_runners:write
  PUT    /orgs/{org}/actions/runner-groups/{runner_group_id}/repositories/{repository_id} org_runner_group.add_repo                    write high organization_self_hosted_runners:write
  DELETE /orgs/{org}/actions/runner-groups/{runner_group_id}/repositories/{repository_id} org_runner_group.remove_repo                 write high organization_self_hosted_runners:write
  GET    /orgs/{org}/actions/runner-groups/{runner_group_id}/runners                  org_runner_group.list_runners                read  low organization_self_hosted_runners:read
  PUT    /orgs/{org}/actions/runner-groups/{runner_group_id}/runners                  org_runner_group.set_runners                 write high organization_self_hosted_runners:write
  PUT    /orgs/{org}/actions/runner-groups/{runner_group_id}/runners/{runner_id}      org_runner_group.add_runner                  write high organization_self_hosted_runners:write
  DELETE /orgs/{org}/actions/runner-groups/{runner_group_id}/runners/{runner_id}      org_runner_group.remove_runner               write high organization_self_hosted_runners:write
  GET    /orgs/{org}/actions/runners                                                  org_runner.list                              read  low organization_self_hosted_runners:read
  GET    /orgs/{org}/actions/runners/downloads                                        org_runner.list_downloads                    read  low organization_self_hosted_runners:read
  POST   /orgs/{org}/actions/runners/generate-jitconfig                               org_runner.create_jit_config                 write high   name,labels organization_self_hosted_runners:write
  POST   /orgs/{org}/actions/runners/registration-token                               org_runner.create_registration_token         write high organization_self_hosted_runners:write
  POST   /orgs/{org}/actions/runners/remove-token                                     org_runner.create_removal_token              write high organization_self_hosted_runners:write
  GET    /orgs/{org}/actions/runners/{runner_id}                                      org_runner.get                               read  low organization_self_hosted_runners:read
  DELETE /orgs/{org}/actions/runners/{runner_id}                                      org_runner.delete                            write high organization_self_hosted_runners:write
  GET    /orgs/{org}/actions/runners/{runner_id}/labels                               org_runner.list_labels                       read  low organization_self_hosted_runners:read
  POST   /orgs/{org}/actions/runners/{runner_id}/labels                               org_runner.add_labels                        write high organization_self_hosted_runners:write
  PUT    /orgs/{org}/actions/runners/{runner_id}/labels                               org_runner.set_labels                        write high organization_self_hosted_runners:write
  DELETE /orgs/{org}/actions/runners/{runner_id}/labels                               org_runner.remove_labels                     write high organization_self_hosted_runners:write
  DELETE /orgs/{org}/actions/runners/{runner_id}/labels/{name}                        org_runner.remove_label                      write high organization_self_hosted_runners:write
`
