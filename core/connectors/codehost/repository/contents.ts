/** Catalogue rows for files, branches, commits and the git database. */
export const CONTENTS = `
  GET    /repos/{owner}/{repo}/contents                                file.get                   read  low    ref
  GET    /repos/{owner}/{repo}/contents/                               file.get                   read  low    ref
  GET    /repos/{owner}/{repo}/contents/{path+}                        file.get                   read  low    ref
  PUT    /repos/{owner}/{repo}/contents/{path+}                        file.update                write low    ?sha:string message,branch,sha
  PUT    /repos/{owner}/{repo}/contents/{path+}                        file.create                write low    ?!sha message,branch
  DELETE /repos/{owner}/{repo}/contents/{path+}                        file.delete                write medium message,branch,sha
  GET    /repos/{owner}/{repo}/readme                                  file.get_readme            read  low    ref
  GET    /repos/{owner}/{repo}/readme/{dir+}                           file.get_readme            read  low    ref
  GET    /repos/{owner}/{repo}/tarball                                 repo.download              read  low
  GET    /repos/{owner}/{repo}/tarball/{ref+}                          repo.download              read  low
  GET    /repos/{owner}/{repo}/zipball                                 repo.download              read  low
  GET    /repos/{owner}/{repo}/zipball/{ref+}                          repo.download              read  low

  GET    /repos/{owner}/{repo}/branches                                branch.list                read  low
  GET    /repos/{owner}/{repo}/branches/{branch/}                      branch.get                 read  low
  POST   /repos/{owner}/{repo}/branches/{branch/}/rename               branch.rename              write medium new_name
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection           branch_protection.get      read  low
  PUT    /repos/{owner}/{repo}/branches/{branch/}/protection           branch_protection.update   write high
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection           branch_protection.delete   write high
  POST   /repos/{owner}/{repo}/merges                                  branch.merge               write medium base,head,commit_message
  POST   /repos/{owner}/{repo}/merge-upstream                          branch.sync_upstream       write medium branch
  GET    /repos/{owner}/{repo}/rules/branches/{branch/}                branch.list_rules          read  low

  POST   /repos/{owner}/{repo}/git/refs                                branch.create              write low    ref,sha
  PATCH  /repos/{owner}/{repo}/git/refs/{ref+}                         branch.update              write medium sha,force
  DELETE /repos/{owner}/{repo}/git/refs/{ref+}                         branch.delete              write high   +irreversible
  GET    /repos/{owner}/{repo}/git/ref/{ref+}                          git_ref.get                read  low
  GET    /repos/{owner}/{repo}/git/matching-refs/{ref+}                git_ref.list               read  low
  POST   /repos/{owner}/{repo}/git/blobs                               git_blob.create            write low
  GET    /repos/{owner}/{repo}/git/blobs/{file_sha}                    git_blob.get               read  low
  POST   /repos/{owner}/{repo}/git/commits                             git_commit.create          write low    message,tree,parents
  GET    /repos/{owner}/{repo}/git/commits/{commit_sha}                git_commit.get             read  low
  POST   /repos/{owner}/{repo}/git/tags                                git_tag.create             write low    tag,message,object
  GET    /repos/{owner}/{repo}/git/tags/{tag_sha}                      git_tag.get                read  low
  POST   /repos/{owner}/{repo}/git/trees                               git_tree.create            write low    base_tree,tree
  GET    /repos/{owner}/{repo}/git/trees/{tree_sha/}                   git_tree.get               read  low

  GET    /repos/{owner}/{repo}/commits                                 commit.list                read  low    sha,path
  GET    /repos/{owner}/{repo}/commits/{ref/}                          commit.get                 read  low
  GET    /repos/{owner}/{repo}/commits/{ref/}/status                   commit_status.get_combined read  low
  GET    /repos/{owner}/{repo}/commits/{ref/}/statuses                 commit_status.list         read  low
  POST   /repos/{owner}/{repo}/statuses/{sha}                          commit_status.create       write low    state,context,description
  GET    /repos/{owner}/{repo}/commits/{ref/}/check-runs               check_run.list             read  low
  GET    /repos/{owner}/{repo}/commits/{ref/}/check-suites             check_suite.list           read  low
  GET    /repos/{owner}/{repo}/commits/{commit_sha}/pulls              commit.list_prs            read  low
  GET    /repos/{owner}/{repo}/commits/{commit_sha}/branches-where-head  commit.list_branches     read  low
  GET    /repos/{owner}/{repo}/compare/{basehead/}                     commit.compare             read  low
  GET    /repos/{owner}/{repo}/commits/{commit_sha}/comments           commit_comment.list        read  low
  POST   /repos/{owner}/{repo}/commits/{commit_sha}/comments           commit_comment.create      write low    body,path
  GET    /repos/{owner}/{repo}/comments                                commit_comment.list_in_repo  read low
  GET    /repos/{owner}/{repo}/comments/{comment_id}                   commit_comment.get         read  low
  PATCH  /repos/{owner}/{repo}/comments/{comment_id}                   commit_comment.update      write low    body
  DELETE /repos/{owner}/{repo}/comments/{comment_id}                   commit_comment.delete      write medium
  POST   /repos/{owner}/{repo}/check-runs                              check_run.create           write low    name,head_sha,status,conclusion
  GET    /repos/{owner}/{repo}/check-runs/{check_run_id}               check_run.get              read  low
  PATCH  /repos/{owner}/{repo}/check-runs/{check_run_id}               check_run.update           write low    status,conclusion
`
