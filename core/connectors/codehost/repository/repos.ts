/** Catalogue rows for repositories, their collaborators, hooks, keys and releases. */
export const REPOS = `
  GET    /repos/{owner}/{repo}                                         repo.get                   read  low metadata:read
  PATCH  /repos/{owner}/{repo}                                         repo.update                write low    name,description,visibility,private,archived,default_branch,security_and_analysis administration:write
  DELETE /repos/{owner}/{repo}                                         repo.delete                write high   +irreversible administration:write
  POST   /user/repos                                                   repo.create                write medium name,private,visibility
  POST   /orgs/{org}/repos                                             repo.create                write medium name,private,visibility @same administration:write
  POST   /repos/{owner}/{repo}/generate                                repo.create                write medium name,owner,private @same
  GET    /user/repos                                                   repo.list                  read  low
  GET    /orgs/{org}/repos                                             repo.list_in_org           read  low metadata:read
  GET    /users/{username}/repos                                       repo.list_of_user          read  low metadata:read
  GET    /repositories                                                 repo.list_public           read  low metadata:read
  POST   /repos/{owner}/{repo}/transfer                                repo.transfer              write high   new_owner,new_name +irreversible
  GET    /repos/{owner}/{repo}/forks                                   fork.list                  read  low metadata:read
  POST   /repos/{owner}/{repo}/forks                                   fork.create                write medium organization,name
  GET    /repos/{owner}/{repo}/languages                               repo.list_languages        read  low metadata:read
  GET    /repos/{owner}/{repo}/contributors                            repo.list_contributors     read  low metadata:read
  GET    /repos/{owner}/{repo}/tags                                    tag.list                   read  low metadata:read
  GET    /repos/{owner}/{repo}/teams                                   repo.list_teams            read  low administration:read
  GET    /repos/{owner}/{repo}/topics                                  repo.list_topics           read  low metadata:read
  PUT    /repos/{owner}/{repo}/topics                                  repo.replace_topics        write low    names administration:write
  GET    /repos/{owner}/{repo}/events                                  repo.list_events           read  low metadata:read
  POST   /repos/{owner}/{repo}/dispatches                              repo.dispatch              write medium event_type contents:write
  GET    /repos/{owner}/{repo}/collaborators                           collaborator.list          read  low metadata:read
  GET    /repos/{owner}/{repo}/collaborators/{username}                collaborator.check         read  low metadata:read
  PUT    /repos/{owner}/{repo}/collaborators/{username}                collaborator.add           write high   permission administration:write
  DELETE /repos/{owner}/{repo}/collaborators/{username}                collaborator.remove        write high administration:write
  GET    /repos/{owner}/{repo}/collaborators/{username}/permission     collaborator.get_permission  read  low metadata:read
  GET    /repos/{owner}/{repo}/keys                                    deploy_key.list            read  low administration:read
  POST   /repos/{owner}/{repo}/keys                                    deploy_key.create          write high   title,read_only administration:write
  GET    /repos/{owner}/{repo}/keys/{key_id}                           deploy_key.get             read  low administration:read
  DELETE /repos/{owner}/{repo}/keys/{key_id}                           deploy_key.delete          write high administration:write
  GET    /repos/{owner}/{repo}/hooks                                   hook.list                  read  low repository_hooks:read
  POST   /repos/{owner}/{repo}/hooks                                   hook.create                write high   config,events repository_hooks:write
  GET    /repos/{owner}/{repo}/hooks/{hook_id}                         hook.get                   read  low repository_hooks:read
  PATCH  /repos/{owner}/{repo}/hooks/{hook_id}                         hook.update                write high   config,events repository_hooks:write
  DELETE /repos/{owner}/{repo}/hooks/{hook_id}                         hook.delete                write high repository_hooks:write
  GET    /repos/{owner}/{repo}/deployments                             deployment.list            read  low deployments:read
  POST   /repos/{owner}/{repo}/deployments                             deployment.create          write high   ref,environment deployments:write
  GET    /repos/{owner}/{repo}/deployments/{deployment_id}             deployment.get             read  low deployments:read
  DELETE /repos/{owner}/{repo}/deployments/{deployment_id}             deployment.delete          write high deployments:write
  GET    /repos/{owner}/{repo}/deployments/{deployment_id}/statuses    deployment_status.list     read  low deployments:read
  POST   /repos/{owner}/{repo}/deployments/{deployment_id}/statuses    deployment_status.create   write medium state,environment deployments:write

  GET    /repos/{owner}/{repo}/releases                                release.list               read  low contents:read
  POST   /repos/{owner}/{repo}/releases                                release.create             write medium tag_name,name,draft,prerelease,target_commitish contents:write,workflows:write
  POST   /repos/{owner}/{repo}/releases/generate-notes                 release.generate_notes     read  low    tag_name contents:write
  GET    /repos/{owner}/{repo}/releases/latest                         release.get_latest         read  low contents:read
  GET    /repos/{owner}/{repo}/releases/tags/{tag/}                    release.get_by_tag         read  low contents:read
  GET    /repos/{owner}/{repo}/releases/{id}                           release.get                read  low contents:read
  PATCH  /repos/{owner}/{repo}/releases/{id}                           release.update             write medium tag_name,name,draft,prerelease,target_commitish contents:write,workflows:write
  DELETE /repos/{owner}/{repo}/releases/{id}                           release.delete             write high   +irreversible contents:write
  GET    /repos/{owner}/{repo}/releases/{id}/assets                    release_asset.list         read  low contents:read
  POST   /repos/{owner}/{repo}/releases/{id}/assets                    release_asset.upload       write medium name @content contents:write
  GET    /repos/{owner}/{repo}/releases/assets/{asset_id}              release_asset.get          read  low contents:read
  PATCH  /repos/{owner}/{repo}/releases/assets/{asset_id}              release_asset.update       write low    name contents:write
  DELETE /repos/{owner}/{repo}/releases/assets/{asset_id}              release_asset.delete       write high contents:write
`
