/** Catalogue rows for issues, their comments, labels, milestones and reactions. */
export const ISSUES = `
  GET    /issues                                                       issue.list_assigned        read  low
  GET    /user/issues                                                  issue.list_assigned        read  low
  GET    /orgs/{org}/issues                                            issue.list_in_org          read  low
  GET    /repos/{owner}/{repo}/issues                                  issue.list                 read  low
  POST   /repos/{owner}/{repo}/issues                                  issue.create               write low    title,body,labels,assignees,assignee,milestone,agent_assignment
  GET    /repos/{owner}/{repo}/issues/{number}                         issue.get                  read  low
  PATCH  /repos/{owner}/{repo}/issues/{number}                         issue.close                write low    ?state=closed title,body,state,state_reason,labels,assignees,assignee,agent_assignment
  PATCH  /repos/{owner}/{repo}/issues/{number}                         issue.update               write low    ?!state title,body,state,state_reason,labels,assignees,assignee,agent_assignment
  PUT    /repos/{owner}/{repo}/issues/{number}/lock                    issue.lock                 write medium lock_reason
  DELETE /repos/{owner}/{repo}/issues/{number}/lock                    issue.unlock               write low
  GET    /repos/{owner}/{repo}/issues/{number}/timeline                issue.list_timeline        read  low
  GET    /repos/{owner}/{repo}/issues/{number}/events                  issue.list_events          read  low
  GET    /repos/{owner}/{repo}/issues/events                           issue.list_events          read  low
  GET    /repos/{owner}/{repo}/issues/events/{event_id}                issue.get_event            read  low
  GET    /repos/{owner}/{repo}/issues/{number}/assignees/{assignee}    issue_assignee.check       read  low
  POST   /repos/{owner}/{repo}/issues/{number}/assignees               issue_assignee.add         write low    assignees
  DELETE /repos/{owner}/{repo}/issues/{number}/assignees               issue_assignee.remove      write low    assignees
  GET    /repos/{owner}/{repo}/issues/{number}/sub_issues              sub_issue.list             read  low
  POST   /repos/{owner}/{repo}/issues/{number}/sub_issues              sub_issue.add              write low    sub_issue_id
  DELETE /repos/{owner}/{repo}/issues/{number}/sub_issue               sub_issue.remove           write low    sub_issue_id
  PATCH  /repos/{owner}/{repo}/issues/{number}/sub_issues/priority     sub_issue.prioritise       write low    sub_issue_id

  GET    /repos/{owner}/{repo}/issues/comments                         issue_comment.list_in_repo read  low
  GET    /repos/{owner}/{repo}/issues/comments/{comment_id}            issue_comment.get          read  low
  PATCH  /repos/{owner}/{repo}/issues/comments/{comment_id}            issue_comment.update       write low    body
  DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}            issue_comment.delete       write medium
  PUT    /repos/{owner}/{repo}/issues/comments/{comment_id}/pin        issue_comment.pin          write low
  DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}/pin        issue_comment.unpin        write low
  GET    /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions  reaction.list              read  low
  POST   /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions  reaction.create            write low    content @same
  DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions/{reaction_id}  reaction.delete write low @same
  GET    /repos/{owner}/{repo}/issues/{number}/comments                issue_comment.list         read  low
  POST   /repos/{owner}/{repo}/issues/{number}/comments                issue_comment.create       write low    body
  GET    /repos/{owner}/{repo}/issues/{number}/reactions               reaction.list              read  low
  POST   /repos/{owner}/{repo}/issues/{number}/reactions               reaction.create            write low    content
  DELETE /repos/{owner}/{repo}/issues/{number}/reactions/{reaction_id} reaction.delete            write low

  GET    /repos/{owner}/{repo}/issues/{number}/labels                  issue_label.list           read  low
  POST   /repos/{owner}/{repo}/issues/{number}/labels                  issue_label.add            write low    labels
  PUT    /repos/{owner}/{repo}/issues/{number}/labels                  issue_label.set            write low    labels
  DELETE /repos/{owner}/{repo}/issues/{number}/labels                  issue_label.remove_all     write low
  DELETE /repos/{owner}/{repo}/issues/{number}/labels/{name/}          issue_label.remove         write low
  GET    /repos/{owner}/{repo}/labels                                  label.list                 read  low
  POST   /repos/{owner}/{repo}/labels                                  label.create               write low    name,color
  GET    /repos/{owner}/{repo}/labels/{name/}                          label.get                  read  low
  PATCH  /repos/{owner}/{repo}/labels/{name/}                          label.update               write low    new_name,color
  DELETE /repos/{owner}/{repo}/labels/{name/}                          label.delete               write medium
  GET    /repos/{owner}/{repo}/milestones                              milestone.list             read  low
  POST   /repos/{owner}/{repo}/milestones                              milestone.create           write low    title,due_on
  GET    /repos/{owner}/{repo}/milestones/{milestone_number}           milestone.get              read  low
  PATCH  /repos/{owner}/{repo}/milestones/{milestone_number}           milestone.update           write low    title,state,due_on
  DELETE /repos/{owner}/{repo}/milestones/{milestone_number}           milestone.delete           write medium
  GET    /repos/{owner}/{repo}/milestones/{milestone_number}/labels    milestone.list_labels      read  low
`
