/** Catalogue rows for operations of a repository that belong to no other table. */
export const REPO_MISC = `
  GET    /repos/{owner}/{repo}/activity                                               repo.list_activity                 read  low contents:read
  GET    /repos/{owner}/{repo}/assignees                                              assignee.list                      read  low issues:read,pull_requests:read
  GET    /repos/{owner}/{repo}/assignees/{assignee}                                   assignee.check                     read  low issues:read,pull_requests:read
  GET    /repos/{owner}/{repo}/autolinks                                              autolink.list                      read  low administration:read
  POST   /repos/{owner}/{repo}/autolinks                                              autolink.create                    write medium key_prefix,url_template administration:write
  GET    /repos/{owner}/{repo}/autolinks/{autolink_id}                                autolink.get                       read  low administration:read
  DELETE /repos/{owner}/{repo}/autolinks/{autolink_id}                                autolink.delete                    write high administration:write
  GET    /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations                  check_run.list_annotations         read  low checks:read
  POST   /repos/{owner}/{repo}/check-runs/{check_run_id}/rerequest                    check_run.rerequest                write low checks:write
  POST   /repos/{owner}/{repo}/check-suites                                           check_suite.create                 write medium checks:write
  PATCH  /repos/{owner}/{repo}/check-suites/preferences                               check_suite.set_preferences        write medium checks:write
  GET    /repos/{owner}/{repo}/check-suites/{check_suite_id}                          check_suite.get                    read  low checks:read
  GET    /repos/{owner}/{repo}/check-suites/{check_suite_id}/check-runs               check_run.list                     read  low checks:read
  POST   /repos/{owner}/{repo}/check-suites/{check_suite_id}/rerequest                check_suite.rerequest              write low checks:write
  GET    /repos/{owner}/{repo}/codeowners/errors                                      repo.list_codeowners_errors        read  low contents:read
  GET    /repos/{owner}/{repo}/comments/{comment_id}/reactions                        reaction.list                      read  low metadata:read
  POST   /repos/{owner}/{repo}/comments/{comment_id}/reactions                        reaction.create                    write low    content @same contents:write
  DELETE /repos/{owner}/{repo}/comments/{comment_id}/reactions/{reaction_id}          reaction.delete                    write low    @same contents:write
  GET    /repos/{owner}/{repo}/community/profile                                      repo.get_community_profile         read  low contents:read
  GET    /repos/{owner}/{repo}/hash-algorithm                                         repo.get_hash_algorithm            read  low metadata:read
  GET    /repos/{owner}/{repo}/hooks/{hook_id}/config                                 hook.get_config                    read  low repository_hooks:read
  PATCH  /repos/{owner}/{repo}/hooks/{hook_id}/config                                 hook.update_config                 write high   url repository_hooks:write
  GET    /repos/{owner}/{repo}/hooks/{hook_id}/deliveries                             hook_delivery.list                 read  low repository_hooks:read
  GET    /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}               hook_delivery.get                  read  low repository_hooks:read
  POST   /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}/attempts      hook_delivery.redeliver            write medium repository_hooks:write
  POST   /repos/{owner}/{repo}/hooks/{hook_id}/pings                                  hook.ping                          write low repository_hooks:read
  POST   /repos/{owner}/{repo}/hooks/{hook_id}/tests                                  hook.test                          write low repository_hooks:read
  GET    /repos/{owner}/{repo}/invitations                                            repo_invitation.list               read  low
  PATCH  /repos/{owner}/{repo}/invitations/{invitation_id}                            repo_invitation.update             write high administration:write
  DELETE /repos/{owner}/{repo}/invitations/{invitation_id}                            repo_invitation.delete             write medium administration:write
  GET    /repos/{owner}/{repo}/issue-types                                            issue_type.list                    read  low metadata:read
  GET    /repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocked_by          issue_dependency.list_blockers     read  low issues:read
  POST   /repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocked_by          issue_dependency.add_blocker       write low    issue_id issues:write
  DELETE /repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocked_by/{issue_id} issue_dependency.remove_blocker    write low issues:write
  GET    /repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocking            issue_dependency.list_blocked      read  low issues:read
  GET    /repos/{owner}/{repo}/issues/{issue_number}/issue-field-values               issue_field_value.list             read  low issues:read
  POST   /repos/{owner}/{repo}/issues/{issue_number}/issue-field-values               issue_field_value.add              write low    issue_field_values issues:write,pull_requests:write
  PUT    /repos/{owner}/{repo}/issues/{issue_number}/issue-field-values               issue_field_value.set              write low    issue_field_values issues:write,pull_requests:write
  DELETE /repos/{owner}/{repo}/issues/{issue_number}/issue-field-values/{issue_field_id} issue_field_value.remove           write low issues:write,pull_requests:write
  GET    /repos/{owner}/{repo}/issues/{issue_number}/parent                           sub_issue.get_parent               read  low issues:read
  GET    /repos/{owner}/{repo}/issues/{issue_number}/suggestions                      issue_suggestion.list              read  low
  POST   /repos/{owner}/{repo}/issues/{issue_number}/suggestions/{suggestion_id}/approve issue_suggestion.approve           write low
  POST   /repos/{owner}/{repo}/issues/{issue_number}/suggestions/{suggestion_id}/dismiss issue_suggestion.dismiss           write low
  GET    /repos/{owner}/{repo}/license                                                repo.get_license                   read  low metadata:read
  GET    /repos/{owner}/{repo}/notifications                                          notification.list                  read  low
  PUT    /repos/{owner}/{repo}/notifications                                          notification.mark_read             write low    last_read_at @same
  GET    /repos/{owner}/{repo}/releases/{release_id}/reactions                        reaction.list                      read  low
  POST   /repos/{owner}/{repo}/releases/{release_id}/reactions                        reaction.create                    write low    content @same
  DELETE /repos/{owner}/{repo}/releases/{release_id}/reactions/{reaction_id}          reaction.delete                    write low    @same
  GET    /repos/{owner}/{repo}/stacks                                                 pr_stack.list                      read  low
  POST   /repos/{owner}/{repo}/stacks                                                 pr_stack.create                    write low
  GET    /repos/{owner}/{repo}/stacks/{stack_number}                                  pr_stack.get                       read  low
  POST   /repos/{owner}/{repo}/stacks/{stack_number}/add                              pr_stack.add                       write low
  POST   /repos/{owner}/{repo}/stacks/{stack_number}/unstack                          pr_stack.unstack                   write low
  GET    /repos/{owner}/{repo}/stargazers                                             stargazer.list                     read  low metadata:read
  GET    /repos/{owner}/{repo}/stargazers/count                                       stargazer.count                    read  low
  GET    /repos/{owner}/{repo}/stats/code_frequency                                   repo_stat.get_code_frequency       read  low metadata:read
  GET    /repos/{owner}/{repo}/stats/commit_activity                                  repo_stat.get_commit_activity      read  low metadata:read
  GET    /repos/{owner}/{repo}/stats/contributors                                     repo_stat.get_contributors         read  low metadata:read
  GET    /repos/{owner}/{repo}/stats/participation                                    repo_stat.get_participation        read  low metadata:read
  GET    /repos/{owner}/{repo}/stats/punch_card                                       repo_stat.get_punch_card           read  low metadata:read
  GET    /repos/{owner}/{repo}/subscribers                                            subscriber.list                    read  low metadata:read
  GET    /repos/{owner}/{repo}/subscription                                           subscription.get                   read  low
  PUT    /repos/{owner}/{repo}/subscription                                           subscription.set                   write low    subscribed,ignored
  DELETE /repos/{owner}/{repo}/subscription                                           subscription.delete                write low
  GET    /repos/{owner}/{repo}/traffic/clones                                         repo_traffic.get_clones            read  low administration:read
  GET    /repos/{owner}/{repo}/traffic/popular/paths                                  repo_traffic.get_popular_paths     read  low administration:read
  GET    /repos/{owner}/{repo}/traffic/popular/referrers                              repo_traffic.get_popular_referrers read  low administration:read
  GET    /repos/{owner}/{repo}/traffic/views                                          repo_traffic.get_views             read  low administration:read
`
