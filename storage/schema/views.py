"""The SQL views strangers depend on: their names and columns never change."""

from tidepool.storage.schema.batch_views import BATCH_VIEWS
from tidepool.storage.schema.learning_views import LEARNING_VIEWS
from tidepool.storage.schema.talk_views import TALK_VIEWS
from tidepool.storage.schema.view import View

VIEWS: dict[str, View] = {view.name: view for view in (*BATCH_VIEWS, *TALK_VIEWS, *LEARNING_VIEWS)}
