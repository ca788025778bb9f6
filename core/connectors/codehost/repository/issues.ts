/** Catalogue rows for issues, their comments, labels, milestones and reactions. */
export const ISSUES = `
  GET    /issues                                                       issue.list_assigned        read  low
  GET    /user/issues                                                  issue.list_assigned        read  low
  GET    /orgs/{org}/issues                                            issue.list_in_org          read  low
  GET    /repos/{owner}/{repo}/issues                                  issue.list                 read  low issues:read
  POST   /repos/{owner}/{repo}/issues                                  issue.create               write low    title,body,labels,assignees,assignee,milestone,agent_assignment issues:write
  GET    /repos/{owner}/{repo}/issues/{number}                         issue.get                  read  low issues:read
  PATCH  /repos/{owner}/{repo}/issues/{number}                         issue.close                write low    ?state=closed title,body,state,state_reason,labels,assignees,assignee,agent_assignment issues:write,pull_requests:write
  PATCH  /repos/{owner}/{repo}/issues/{number}                         issue.update               write low    ?!state title,body,state,state_reason,labels,assignees,assignee,agent_assignment issues:write,pull_requests:write
  PUT    /repos/{owner}/{repo}/issues/{number}/lock                    issue.lock                 write medium lock_reason issues:write,pull_requests:write
  DELETE /repos/{owner}/{repo}/issues/{number}/lock                    issue.unlock               write low issues:write,pull_requests:write
  GET    /repos/{owner}/{repo}/issues/{number}/timeline                issue.list_timeline        read  low issues:read,pull_requests:read
  GET    /repos/{owner}/{repo}/issues/{number}/events                  issue.list_events          read  low issues:read,pull_requests:read
  GET    /repos/{owner}/{repo}/issues/events                           issue.list_events          read  low issues:read
  GET    /repos/{owner}/{repo}/issues/events/{event_id}                issue.get_event            read  low issues:read,pull_requests:read
  GET    /repos/{owner}/{repo}/issues/{number}/assignees/{assignee}    issue_assignee.check       read  low issues:read,pull_requests:read
  POST   /repos/{owner}/{repo}/issues/{number}/assignees               issue_assignee.add         write low    assignees issues:write,pull_requests:write
  DELETE /repos/{owner}/{repo}/issues/{number}/assignees               issue_assignee.remove      write low    assignees issues:write,pull_requests:write
  GET    /repos/{owner}/{repo}/issues/{number}/sub_issues              sub_issue.list             read  low issues:read
  POST   /repos/{owner}/{repo}/issues/{number}/sub_issues              sub_issue.add              write low    sub_issue_id issues:write
  DELETE /repos/{owner}/{repo}/issues/{number}/sub_issue               sub_issue.remove           write low    sub_issue_id issues:write
  PATCH  /repos/{owner}/{repo}/issues/{number}/sub_issues/priority     sub_issue.prioritise       write low    sub_issue_id issues:write

  GET    /repos/{owner}/{repo}/issues/comments                         issue_comment.list_in_repo read  low issues:read,pull_requests:read
  GET    /repos/{owner}/{repo}/issues/comments/{comment_id}            issue_comment.get          read  low issues:read,pull_requests:read
  PATCH  /repos/{owner}/{repo}/issues/comments/{comment_id}            issue_comment.update       write low    body issues:write,pull_requests:write
  DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}            issue_comment.delete       write medium issues:write,pull_requests:write
  PUT    /repos/{owner}/{repo}/issues/comments/{comment_id}/pin        issue_comment.pin          write low issues:write
  DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}/pin        issue_comment.unpin        write low issues:write
  GET    /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions  reaction.list              read  low issues:read
  POST   /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions  reaction.create            write low    content @same issues:write
  DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions/{reaction_id}  reaction.delete write low @same issues:write
  GET    /repos/{owner}/{repo}/issues/{number}/comments                issue_comment.list         read  low issues:read,pull_requests:read
  POST   /repos/{owner}/{repo}/issues/{number}/comments                issue_comment.create       write low    body issues:write,pull_requests:write
  GET    /repos/{owner}/{repo}/issues/{number}/reactions               reaction.list              read  low issues:read
  POST   /repos/{owner}/{repo}/issues/{number}/reactions               reaction.create            write low    content issues:write
  DELETE /repos/{owner}/{repo}/issues/{number}/reactions/{reaction_id} reaction.delete            write low issues:write

  GET    /repos/{owner}/{repo}/issues/{number}/labels                  issue_label.list           read  low issues:read,pull_requests:read
  POST   /repos/{owner}/{repo}/issues/{number}/labels                  issue_label.add            write low    labels issues:write,pull_requests:write
  PUT    /repos/{owner}/{repo}/issues/{number}/labels                  issue_label.set            write low    labels issues:write,pull_requests:write
  DELETE /repos/{owner}/{repo}/issues/{number}/labels                  issue_label.remove_all     write low issues:write,pull_requests:write
  DELETE /repos/{owner}/{repo}/issues/{number}/labels/{name/}          issue_label.remove         write low issues:write,pull_requests:write
  GET    /repos/{owner}/{repo}/labels                                  label.list                 read  low issues:read,pull_requests:read
  POST   /repos/{owner}/{repo}/labels                                  label.create               write low    name,color issues:write,pull_requests:write
  GET    /repos/{owner}/{repo}/labels/{name/}                          label.get                  read  low issues:read,pull_requests:read
  PATCH  /repos/{owner}/{repo}/labels/{name/}                          label.update               write low    new_name,color issues:write,pull_requests:write
  DELETE /repos/{owner}/{repo}/labels/{name/}                          label.delete               write medium issues:write,pull_requests:write
  GET    /repos/{owner}/{repo}/milestones                              milestone.list             read  low issues:read,pull_requests:read
  POST   /repos/{owner}/{repo}/milestones                              milestone.create           write low    title,due_on issues:write,pull_requests:write
  GET    /repos/{owner}/{repo}/milestones/{milestone_number}           milestone.get              read  low issues:read,pull_requests:read
  PATCH  /repos/{owner}/{repo}/milestones/{milestone_number}           milestone.update           write low    title,state,due_on issues:write,pull_requests:write
  DELETE /repos/{owner}/{repo}/milestones/{milestone_number}           milestone.delete           write medium issues:write,pull_requests:write
  GET    /repos/{owner}/{repo}/milestones/{milestone_number}/labels    milestone.list_labels      read  low issues:read,pull_requests:read
`
