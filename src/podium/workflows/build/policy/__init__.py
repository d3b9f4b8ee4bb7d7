"""Every rule and number of `build`, as pure functions and tables: no I/O, no await.

| what | where |
|---|---|
| what a plan and a sub-plan must look like, revisions, iterations | `planning` |
| attempts, fix cycles, depth, what a failed step means for the others | `steps` |
| the gates of plan, code, tests, step and goal | `gates` |
| what a program can hold against a change | `catching` |
| reminders, corrections, the end | `escalation` |
| who may take how long | `time` |
| what stands in for an agent that fails | `recovery` |
"""
