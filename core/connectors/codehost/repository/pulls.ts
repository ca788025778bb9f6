/** Catalogue rows for pull requests, their reviews and review comments. */
export const PULLS = `
  GET    /repos/{owner}/{repo}/pulls                                   pr.list                    read  low pull_requests:read
  POST   /repos/{owner}/{repo}/pulls                                   pr.create                  write low    title,head,base,body,draft pull_requests:write
  GET    /repos/{owner}/{repo}/pulls/{number}                          pr.get                     read  low contents:read,pull_requests:read
  PATCH  /repos/{owner}/{repo}/pulls/{number}                          pr.close                   write low    ?state=closed title,body,state,base pull_requests:write
  PATCH  /repos/{owner}/{repo}/pulls/{number}                          pr.update                  write low    ?!state title,body,state,base pull_requests:write
  GET    /repos/{owner}/{repo}/pulls/{number}/merge                    pr.check_merged            read  low pull_requests:read
  PUT    /repos/{owner}/{repo}/pulls/{number}/merge                    pr.merge                   write medium merge_method,commit_title,sha contents:write,pull_requests:write
  PUT    /repos/{owner}/{repo}/pulls/{number}/merge-async              pr.merge                   write medium merge_method,commit_title,sha @same contents:write,pull_requests:write
  GET    /repos/{owner}/{repo}/pulls/{number}/merge-async/{uuid}       pr.get_merge               read  low
  PUT    /repos/{owner}/{repo}/pulls/{number}/update-branch            pr.update_branch           write low    expected_head_sha pull_requests:write
  POST   /repos/{owner}/{repo}/pulls/{number}/codespaces               codespace.create           write medium
  GET    /repos/{owner}/{repo}/pulls/{number}/commits                  pr.list_commits            read  low pull_requests:read
  GET    /repos/{owner}/{repo}/pulls/{number}/files                    pr.list_files              read  low pull_requests:read
  GET    /repos/{owner}/{repo}/pulls/{number}/requested_reviewers      pr_reviewer.list           read  low pull_requests:read
  POST   /repos/{owner}/{repo}/pulls/{number}/requested_reviewers      pr_reviewer.request        write low    reviewers,team_reviewers pull_requests:write
  DELETE /repos/{owner}/{repo}/pulls/{number}/requested_reviewers      pr_reviewer.remove         write low    reviewers,team_reviewers pull_requests:write

  GET    /repos/{owner}/{repo}/pulls/{number}/reviews                  pr_review.list             read  low pull_requests:read
  POST   /repos/{owner}/{repo}/pulls/{number}/reviews                  pr.review                  write low    event,body,commit_id,comments pull_requests:write
  GET    /repos/{owner}/{repo}/pulls/{number}/reviews/{review_id}      pr_review.get              read  low pull_requests:read
  PUT    /repos/{owner}/{repo}/pulls/{number}/reviews/{review_id}      pr_review.update           write low    body pull_requests:write
  DELETE /repos/{owner}/{repo}/pulls/{number}/reviews/{review_id}      pr_review.delete           write medium pull_requests:write
  GET    /repos/{owner}/{repo}/pulls/{number}/reviews/{review_id}/comments    pr_review.list_comments read  low pull_requests:read
  PUT    /repos/{owner}/{repo}/pulls/{number}/reviews/{review_id}/dismissals  pr_review.dismiss       write medium message pull_requests:write
  POST   /repos/{owner}/{repo}/pulls/{number}/reviews/{review_id}/events      pr.review               write low    event,body,commit_id,comments @same pull_requests:write

  GET    /repos/{owner}/{repo}/pulls/comments                          pr_comment.list_in_repo    read  low pull_requests:read
  GET    /repos/{owner}/{repo}/pulls/comments/{comment_id}             pr_comment.get             read  low pull_requests:read
  PATCH  /repos/{owner}/{repo}/pulls/comments/{comment_id}             pr_comment.update          write low    body pull_requests:write
  DELETE /repos/{owner}/{repo}/pulls/comments/{comment_id}             pr_comment.delete          write medium pull_requests:write
  GET    /repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions   reaction.list              read  low pull_requests:read
  POST   /repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions   reaction.create            write low    content @same pull_requests:write
  DELETE /repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions/{reaction_id}  reaction.delete write low @same pull_requests:write
  GET    /repos/{owner}/{repo}/pulls/{number}/comments                 pr_comment.list            read  low pull_requests:read
  POST   /repos/{owner}/{repo}/pulls/{number}/comments                 pr_comment.create          write low    body,path,line,commit_id pull_requests:write
  POST   /repos/{owner}/{repo}/pulls/{number}/comments/{comment_id}/replies         pr_comment.reply write low body pull_requests:write
`
