/** Catalogue rows for environments, deployments and pages. */
export const DELIVERY = `
  GET    /repos/{owner}/{repo}/deployments/{deployment_id}/statuses/{status_id}       deployment_status.get                read  low deployments:read
  GET    /repos/{owner}/{repo}/environments                                           environment.list                     read  low actions:read
  GET    /repos/{owner}/{repo}/environments/{environment_name/}                       environment.get                      read  low actions:read
  PUT    /repos/{owner}/{repo}/environments/{environment_name/}                       environment.set                      write high   wait_timer,reviewers,deployment_branch_policy administration:write
  DELETE /repos/{owner}/{repo}/environments/{environment_name/}                       environment.delete                   write high administration:write
  GET    /repos/{owner}/{repo}/environments/{environment_name/}/deployment-branch-policies deployment_branch_policy.list        read  low actions:read
  POST   /repos/{owner}/{repo}/environments/{environment_name/}/deployment-branch-policies deployment_branch_policy.create      write high administration:write
  GET    /repos/{owner}/{repo}/environments/{environment_name/}/deployment-branch-policies/{branch_policy_id} deployment_branch_policy.get         read  low actions:read
  PUT    /repos/{owner}/{repo}/environments/{environment_name/}/deployment-branch-policies/{branch_policy_id} deployment_branch_policy.update      write high   name administration:write
  DELETE /repos/{owner}/{repo}/environments/{environment_name/}/deployment-branch-policies/{branch_policy_id} deployment_branch_policy.delete      write high administration:write
  GET    /repos/{owner}/{repo}/environments/{environment_name/}/deployment_protection_rules deployment_protection_rule.list      read  low actions:read
  POST   /repos/{owner}/{repo}/environments/{environment_name/}/deployment_protection_rules deployment_protection_rule.create    write high administration:write
  GET    /repos/{owner}/{repo}/environments/{environment_name/}/deployment_protection_rules/apps deployment_protection_rule.list_apps read  low administration:read
  GET    /repos/{owner}/{repo}/environments/{environment_name/}/deployment_protection_rules/{protection_rule_id} deployment_protection_rule.get       read  low actions:read
  DELETE /repos/{owner}/{repo}/environments/{environment_name/}/deployment_protection_rules/{protection_rule_id} deployment_protection_rule.disable   write high administration:write
  GET    /repos/{owner}/{repo}/environments/{environment_name/}/secrets               environment_secret.list              read  low environments:read
  GET    /repos/{owner}/{repo}/environments/{environment_name/}/secrets/public-key    environment_secret.get_public_key    read  low environments:read
  GET    /repos/{owner}/{repo}/environments/{environment_name/}/secrets/{secret_name} environment_secret.get               read  low environments:read
  PUT    /repos/{owner}/{repo}/environments/{environment_name/}/secrets/{secret_name} environment_secret.set               write high environments:write
  DELETE /repos/{owner}/{repo}/environments/{environment_name/}/secrets/{secret_name} environment_secret.delete            write high environments:write
  GET    /repos/{owner}/{repo}/environments/{environment_name/}/variables             environment_variable.list            read  low environments:read
  POST   /repos/{owner}/{repo}/environments/{environment_name/}/variables             environment_variable.create          write medium name environments:write
  GET    /repos/{owner}/{repo}/environments/{environment_name/}/variables/{name}      environment_variable.get             read  low environments:read
  PATCH  /repos/{owner}/{repo}/environments/{environment_name/}/variables/{name}      environment_variable.update          write medium environments:write
  DELETE /repos/{owner}/{repo}/environments/{environment_name/}/variables/{name}      environment_variable.delete          write high environments:write
  GET    /repos/{owner}/{repo}/pages                                                  pages.get                            read  low pages:read
  POST   /repos/{owner}/{repo}/pages                                                  pages.create                         write high   source administration:write,pages:write
  PUT    /repos/{owner}/{repo}/pages                                                  pages.update                         write high   source,cname,public administration:write,pages:write
  DELETE /repos/{owner}/{repo}/pages                                                  pages.delete                         write high administration:write,pages:write
  GET    /repos/{owner}/{repo}/pages/builds                                           pages_build.list                     read  low pages:read
  POST   /repos/{owner}/{repo}/pages/builds                                           pages_build.request                  write high pages:write
  GET    /repos/{owner}/{repo}/pages/builds/latest                                    pages_build.get_latest               read  low pages:read
  GET    /repos/{owner}/{repo}/pages/builds/{build_id}                                pages_build.get                      read  low pages:read
  POST   /repos/{owner}/{repo}/pages/deployments                                      pages_deployment.create              write high   environment pages:write
  GET    /repos/{owner}/{repo}/pages/deployments/{pages_deployment_id}                pages_deployment.get                 read  low pages:read
  POST   /repos/{owner}/{repo}/pages/deployments/{pages_deployment_id}/cancel         pages_deployment.cancel              write medium pages:write
  GET    /repos/{owner}/{repo}/pages/health                                           pages.get_health                     read  low administration:write,pages:write
`
