/** Catalogue rows for repositories, their collaborators, hooks, keys and releases. */
export const REPOS = `
  GET    /repos/{owner}/{repo}                                         repo.get                   read  low
  PATCH  /repos/{owner}/{repo}                                         repo.update                write low    name,description,visibility,private,archived,default_branch,security_and_analysis
  DELETE /repos/{owner}/{repo}                                         repo.delete                write high   +irreversible
  POST   /user/repos                                                   repo.create                write medium name,private,visibility
  POST   /orgs/{org}/repos                                             repo.create                write medium name,private,visibility @same
  POST   /repos/{owner}/{repo}/generate                                repo.create                write medium name,owner,private @same
  GET    /user/repos                                                   repo.list                  read  low
  GET    /orgs/{org}/repos                                             repo.list_in_org           read  low
  GET    /users/{username}/repos                                       repo.list_of_user          read  low
  GET    /repositories                                                 repo.list_public           read  low
  POST   /repos/{owner}/{repo}/transfer                                repo.transfer              write high   new_owner,new_name +irreversible
  GET    /repos/{owner}/{repo}/forks                                   fork.list                  read  low
  POST   /repos/{owner}/{repo}/forks                                   fork.create                write medium organization,name
  GET    /repos/{owner}/{repo}/languages                               repo.list_languages        read  low
  GET    /repos/{owner}/{repo}/contributors                            repo.list_contributors     read  low
  GET    /repos/{owner}/{repo}/tags                                    tag.list                   read  low
  GET    /repos/{owner}/{repo}/teams                                   repo.list_teams            read  low
  GET    /repos/{owner}/{repo}/topics                                  repo.list_topics           read  low
  PUT    /repos/{owner}/{repo}/topics                                  repo.replace_topics        write low    names
  GET    /repos/{owner}/{repo}/events                                  repo.list_events           read  low
  POST   /repos/{owner}/{repo}/dispatches                              repo.dispatch              write medium event_type
  GET    /repos/{owner}/{repo}/collaborators                           collaborator.list          read  low
  GET    /repos/{owner}/{repo}/collaborators/{username}                collaborator.check         read  low
  PUT    /repos/{owner}/{repo}/collaborators/{username}                collaborator.add           write high   permission
  DELETE /repos/{owner}/{repo}/collaborators/{username}                collaborator.remove        write high
  GET    /repos/{owner}/{repo}/collaborators/{username}/permission     collaborator.get_permission  read  low
  GET    /repos/{owner}/{repo}/keys                                    deploy_key.list            read  low
  POST   /repos/{owner}/{repo}/keys                                    deploy_key.create          write high   title,read_only
  GET    /repos/{owner}/{repo}/keys/{key_id}                           deploy_key.get             read  low
  DELETE /repos/{owner}/{repo}/keys/{key_id}                           deploy_key.delete          write high
  GET    /repos/{owner}/{repo}/hooks                                   hook.list                  read  low
  POST   /repos/{owner}/{repo}/hooks                                   hook.create                write high   config,events
  GET    /repos/{owner}/{repo}/hooks/{hook_id}                         hook.get                   read  low
  PATCH  /repos/{owner}/{repo}/hooks/{hook_id}                         hook.update                write high   config,events
  DELETE /repos/{owner}/{repo}/hooks/{hook_id}                         hook.delete                write high
  GET    /repos/{owner}/{repo}/deployments                             deployment.list            read  low
  POST   /repos/{owner}/{repo}/deployments                             deployment.create          write high   ref,environment
  GET    /repos/{owner}/{repo}/deployments/{deployment_id}             deployment.get             read  low
  DELETE /repos/{owner}/{repo}/deployments/{deployment_id}             deployment.delete          write high
  GET    /repos/{owner}/{repo}/deployments/{deployment_id}/statuses    deployment_status.list     read  low
  POST   /repos/{owner}/{repo}/deployments/{deployment_id}/statuses    deployment_status.create   write medium state,environment

  GET    /repos/{owner}/{repo}/releases                                release.list               read  low
  POST   /repos/{owner}/{repo}/releases                                release.create             write medium tag_name,name,draft,prerelease,target_commitish
  POST   /repos/{owner}/{repo}/releases/generate-notes                 release.generate_notes     read  low    tag_name
  GET    /repos/{owner}/{repo}/releases/latest                         release.get_latest         read  low
  GET    /repos/{owner}/{repo}/releases/tags/{tag/}                    release.get_by_tag         read  low
  GET    /repos/{owner}/{repo}/releases/{id}                           release.get                read  low
  PATCH  /repos/{owner}/{repo}/releases/{id}                           release.update             write medium tag_name,name,draft,prerelease
  DELETE /repos/{owner}/{repo}/releases/{id}                           release.delete             write high   +irreversible
  GET    /repos/{owner}/{repo}/releases/{id}/assets                    release_asset.list         read  low
  POST   /repos/{owner}/{repo}/releases/{id}/assets                    release_asset.upload       write medium name @content
  GET    /repos/{owner}/{repo}/releases/assets/{asset_id}              release_asset.get          read  low
  PATCH  /repos/{owner}/{repo}/releases/assets/{asset_id}              release_asset.update       write low    name
  DELETE /repos/{owner}/{repo}/releases/assets/{asset_id}              release_asset.delete       write high
`
